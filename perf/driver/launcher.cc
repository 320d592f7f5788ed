// SPDX-License-Identifier: Apache-2.0
#include "perf/driver/launcher.h"

#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "perf/driver/exit_code.h"

namespace sluice::perf {
namespace {

constexpr auto kReapInterval = std::chrono::milliseconds(5);

struct Child {
  int rank = 0;
  pid_t pid = -1;
  bool running = true;
  bool stopped = false;
};

class Watch {
 public:
  Watch(std::vector<Child> children, Duration grace, const std::function<void()>& on_tick)
      : children_(std::move(children)), grace_(grace), on_tick_(on_tick) {}

  int wait_for_all() {
    while (running() > 0) {
      for (Child& child : children_) look_at(child);
      end_what_is_left();
      if (on_tick_) on_tick_();
      std::this_thread::sleep_for(kReapInterval);
    }
    return code_;
  }

 private:
  size_t running() const {
    return static_cast<size_t>(
        std::count_if(children_.begin(), children_.end(), [](auto& one) { return one.running; }));
  }
  size_t stopped() const {
    return static_cast<size_t>(std::count_if(children_.begin(), children_.end(),
                                             [](auto& one) { return one.running && one.stopped; }));
  }

  void look_at(Child& child) {
    int status = 0;
    while (child.running && ::waitpid(child.pid, &status, WNOHANG | WUNTRACED | WCONTINUED) > 0) {
      if (WIFSTOPPED(status)) {
        child.stopped = true;
        std::fprintf(stderr, "rank %d stopped by signal %d\n", child.rank, WSTOPSIG(status));
      } else if (WIFCONTINUED(status)) {
        child.stopped = false;
      } else {
        child.running = false;
        note_end(child, status);
      }
    }
  }

  void note_end(const Child& child, int status) {
    int code = WIFEXITED(status) ? WEXITSTATUS(status) : kExitFailed;
    if (WIFSIGNALED(status) && !killing_) {
      std::fprintf(stderr, "rank %d killed by signal %d\n", child.rank, WTERMSIG(status));
    }
    if (WIFEXITED(status) && code > kExitFailed) {  // a sanitizer's report, for example
      std::fprintf(stderr, "rank %d ended with exit code %d\n", child.rank, code);
      code = kExitFailed;
    }
    code_ = std::max(code_, code);
    if (code != kExitFine && until_.never()) until_ = Deadline::after(grace_);
  }

  // Stopped ranks are hopeless once they are alone; the others when the grace has passed.
  void end_what_is_left() {
    const size_t left = running();
    const bool only_stopped = left > 0 && stopped() == left;
    if (killing_ || left == 0 || !(only_stopped || until_.passed())) return;
    killing_ = true;
    code_ = kExitFailed;
    for (const Child& child : children_) {
      if (!child.running) continue;
      std::fprintf(stderr, "rank %d %s: killed by the launcher\n", child.rank,
                   child.stopped ? "is stopped" : "does not end");
      ::kill(child.pid, SIGKILL);
    }
  }

  std::vector<Child> children_;
  const Duration grace_;
  const std::function<void()>& on_tick_;
  Deadline until_;
  bool killing_ = false;
  int code_ = kExitFine;
};

[[noreturn]] void be_rank(int launcher, Bootstrap::Place place, const RankBody& body) {
  die_with_parent(SIGKILL, launcher);
  const int code = body(std::move(place));
  std::fflush(nullptr);
  std::exit(code);
}

}  // namespace

void die_with_parent(int signal, int parent) {
  ::prctl(PR_SET_PDEATHSIG, signal);
  if (::getppid() != parent) ::_exit(kExitFailed);
}

Result<int> launch_ranks(int ranks, Duration grace, const RankBody& body,
                         const std::function<void()>& on_tick) {
  int port = 0;
  auto listener = listen_on(HostPort{"127.0.0.1", "0"}, &port);
  if (!listener) return fail(std::move(listener).error());
  uint64_t secret = 0;
  if (::getrandom(&secret, sizeof secret, 0) != sizeof secret) secret = 0x5eed;
  std::fflush(nullptr);  // buffered text would come out of every child

  const pid_t launcher = ::getpid();
  std::vector<Child> children;
  for (int rank = 0; rank < ranks; ++rank) {
    const pid_t pid = ::fork();
    if (pid == 0) {
      Bootstrap::Place place{rank, ranks, HostPort{"127.0.0.1", std::to_string(port)}, secret, {}};
      if (rank == 0) {
        place.root_listener = std::move(*listener);
      } else {
        listener->reset();
      }
      be_rank(launcher, std::move(place), body);
    }
    if (pid < 0) {
      const int error = errno;
      for (const Child& child : children) ::kill(child.pid, SIGKILL);
      for (const Child& child : children) ::waitpid(child.pid, nullptr, 0);
      return fail_errno(error, "cannot fork rank " + std::to_string(rank));
    }
    children.push_back(Child{rank, pid});
  }
  listener->reset();
  return Watch(std::move(children), grace, on_tick).wait_for_all();
}

}  // namespace sluice::perf
