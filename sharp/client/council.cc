// SPDX-License-Identifier: Apache-2.0
#include "sharp/client/council.h"

#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <system_error>
#include <utility>

namespace sluice::sharp {
namespace {

constexpr Duration kLinger = std::chrono::seconds(1);
// While something is driven that has no descriptor to sleep on.
constexpr int kDrivingMs = 1;
constexpr int kDrivingLongMs = 10;  // after so long:
constexpr Duration kDrivingLong = std::chrono::milliseconds(100);
// A peer's silence shows when its connection is looked at.
constexpr int kLongestSleepMs = 1000;

template <typename... Handlers>
struct Either : Handlers... {
  using Handlers::operator()...;
};
template <typename... Handlers>
Either(Handlers...) -> Either<Handlers...>;

}  // namespace

Result<std::unique_ptr<Council>> Council::open(transport::Context& context, Setup setup,
                                               RecoverableGroup& group) {
  transport::FileDescriptor wake(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake) return fail_errno(errno, "creating an eventfd for the group");
  return std::unique_ptr<Council>(new Council(context, std::move(setup), group, std::move(wake)));
}

Council::Council(transport::Context& context, Setup setup, RecoverableGroup& group,
                 transport::FileDescriptor wake)
    : context_(context),
      logger_(context.logger()),
      group_(group),
      rank_(setup.rank),
      process_(::getpid()),
      wake_(std::move(wake)),
      source_(std::move(setup.source)),
      follower_(context, group, std::move(setup.hosts), setup.bind, setup.rank) {
  if (setup.leading) leader_.emplace(std::move(*setup.leading), source_.get());
  for (size_t index = 0; index < setup.connections.size(); ++index) {
    if (setup.connections[index].connection == nullptr) continue;
    const uint16_t other = leader_ ? static_cast<uint16_t>(index) : uint16_t{0};
    seats_.emplace_back(other, std::move(setup.connections[index]));
  }
}

Status Council::start() {
  if (!context_.background().enlist(*this)) {
    return fail(ErrorKind::invalid_usage, "the library is being unloaded");
  }
  // Signals are the application's.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  Status started;
  try {
    thread_ = std::make_unique<std::thread>([this] { run(); });
  } catch (const std::system_error& error) {
    started = fail_errno(error.code().value(), "starting the thread of a group");
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return started;
}

Council::~Council() {
  close();
}

void Council::close() {
  if (::getpid() != process_) {
    // The thread and the nodes are the parent's.
    static_cast<void>(thread_.release());
    static_cast<void>(source_.release());
    follower_.abandon();
    return;
  }
  context_.background().dismiss(*this);
  if (thread_ == nullptr) return;
  closing_.store(true, std::memory_order_release);
  wake();
  thread_->join();
  thread_.reset();
}

void Council::halt() {
  if (thread_ == nullptr) return;
  halting_.store(true, std::memory_order_release);
  wake();
  thread_->join();
  thread_.reset();
}

void Council::wake() {
  const uint64_t one = 1;
  // A full counter wakes just as well.
  [[maybe_unused]] const ssize_t written = ::write(wake_.get(), &one, sizeof one);
}

void Council::on_trouble(uint32_t epoch, uint16_t culprit, std::string sentence) {
  {
    const std::lock_guard lock(mutex_);
    troubles_.push_back({epoch, culprit, std::move(sentence)});
  }
  wake();
}

void Council::run() {
  pthread_setname_np(pthread_self(), "sluice-group");
  Deadline linger;
  while (true) {
    if (halting_.load(std::memory_order_acquire)) return;
    step();
    if (closing_.load(std::memory_order_acquire)) {
      if (linger.never()) linger = Deadline::after(kLinger);
      if (may_end() || linger.passed()) break;
    }
    wait();
  }
  for (CouncilSeat& seat : seats_) seat.say(Departure{});
}

// Nobody needs this rank for anything that has begun.
bool Council::may_end() const {
  if (ended_) return true;
  return !troubled_ && !follower_.unsettled() && (!leader_ || !leader_->exchanging());
}

void Council::step() {
  report_trouble();
  for (CouncilSeat& seat : seats_) {
    if (seat.open()) listen(seat);
  }
  if (ended_) return;
  if (const auto ready = follower_.progress()) answer(*ready);
  lead();
}

void Council::report_trouble() {
  std::deque<Trouble> troubles;
  {
    const std::lock_guard lock(mutex_);
    troubles.swap(troubles_);
  }
  for (Trouble& each : troubles) {
    if (ended_) return;
    if (each.epoch <= left_epoch_) continue;  // it has been left already
    troubled_ = true;
    if (leader_left_) {
      end("the tree broke after rank 0 had closed: " + each.sentence);
    } else {
      answer(std::move(each));
    }
  }
}

// To rank 0, which may be this one.
template <typename T>
void Council::answer(T message) {
  if (!leader_) {
    for (CouncilSeat& seat : seats_) seat.say(message);
    return;
  }
  CouncilSeat::Said said(std::move(message));
  hear(rank_, said);
}

void Council::listen(CouncilSeat& seat) {
  std::deque<CouncilSeat::Said> heard;
  const std::string peer = seat.peer();
  const Status status = seat.listen(&heard);
  for (CouncilSeat::Said& each : heard) hear(seat.rank(), each);
  if (!status) lose(seat, peer + ": " + status.error().message);
}

void Council::lose(CouncilSeat& seat, const std::string& sentence) {
  if (ended_) return;
  if (leader_) {
    leader_->on_lost(seat.rank(), sentence);
  } else {
    end("rank 0 was lost, " + sentence);
  }
}

void Council::hear(uint16_t from, CouncilSeat::Said& said) {
  if (ended_) return;
  const TimePoint now = Clock::now();
  std::visit(Either{[&](Trouble& trouble) {
                      if (leader_) leader_->on_trouble(from, trouble, now);
                    },
                    [&](Standing& standing) {
                      if (leader_) leader_->on_standing(from, std::move(standing), now);
                    },
                    [&](Ready& ready) {
                      if (leader_) leader_->on_ready(from, ready, now);
                    },
                    [&](Departure&) {
                      if (leader_) {
                        leader_->on_departed(from);
                      } else {
                        leader_left_ = true;
                        if (troubled_ || follower_.unsettled()) {
                          end("rank 0 closed while the group was between two trees");
                        }
                      }
                    },
                    [&](Pause& pause) {
                      if (!leader_) obey(pause);
                    },
                    [&](Prepare& prepare) {
                      if (!leader_) obey(prepare);
                    },
                    [&](Resume& resume) {
                      if (!leader_) obey(resume);
                    },
                    [&](Fatal& fatal) {
                      if (!leader_) obey(fatal);
                    }},
             said);
}

// Carries out what the leader has decided, until nothing more follows from that.
void Council::lead() {
  if (!leader_) return;
  leader_->tick(Clock::now());
  while (true) {
    for (const Leader::Notice& notice : leader_->take_notices()) {
      SLUICE_LOG(logger_, notice.warning ? LogLevel::warn : LogLevel::info,
                 LogSubsystem::collective, "in-network reduction: %s", notice.text.c_str());
    }
    const auto orders = leader_->take_orders();
    if (orders.empty()) return;
    for (const Leader::Order& order : orders) {
      if (order.rank == rank_) continue;
      const auto seat = std::find_if(seats_.begin(), seats_.end(), [&](const CouncilSeat& each) {
        return each.rank() == order.rank;
      });
      if (seat == seats_.end()) continue;
      std::visit([&](const auto& command) { seat->say(command); }, order.command);
    }
    // The others first: they work meanwhile.
    for (const Leader::Order& order : orders) {
      if (order.rank == rank_) obey(order.command);
    }
  }
}

void Council::obey(const Command& command) {
  if (ended_) return;
  std::visit(Either{[&](const Pause& pause) {
                      troubled_ = false;
                      left_epoch_ = pause.epoch;
                      answer(follower_.on_pause(pause));
                    },
                    [&](const Prepare& prepare) {
                      driving_since_ = Clock::now();
                      follower_.on_prepare(prepare);
                    },
                    [&](const Resume& resume) {
                      driving_since_ = Clock::now();
                      const Status resumed = follower_.on_resume(resume);
                      if (resumed) return;
                      end(resumed.error().message);
                      // The others learn it by the end of the connections.
                      for (CouncilSeat& seat : seats_) seat.close();
                    },
                    [&](const Fatal& fatal) { end(fatal.sentence); }},
             command);
}

void Council::end(const std::string& sentence) {
  if (ended_) return;
  ended_ = true;
  group_.break_off({ErrorKind::remote, 0, "in-network reduction: " + sentence});
}

int Council::wait_ms() {
  for (CouncilSeat& seat : seats_) {
    if (seat.open() && !seat.prepare_wait()) return 0;
  }
  if (ended_) return closing_.load(std::memory_order_acquire) ? 0 : kLongestSleepMs;
  if (follower_.joining() || follower_.unsettled()) {
    return Clock::now() - driving_since_ > kDrivingLong ? kDrivingLongMs : kDrivingMs;
  }
  if (!leader_) return kLongestSleepMs;
  const TimePoint now = Clock::now();
  const TimePoint at = leader_->wake_at(now);
  if (at <= now) return 0;
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(at - now).count() + 1;
  return static_cast<int>(std::min<int64_t>(left, kLongestSleepMs));
}

void Council::wait() {
  const int timeout_ms = wait_ms();
  std::vector<pollfd> watched{{wake_.get(), POLLIN, 0}};
  for (const CouncilSeat& seat : seats_) {
    if (seat.open()) watched.push_back({seat.event_fd(), POLLIN, 0});
  }
  static_cast<void>(::poll(watched.data(), watched.size(), timeout_ms));
  if ((watched[0].revents & POLLIN) != 0) {
    uint64_t count = 0;
    [[maybe_unused]] const ssize_t got = ::read(wake_.get(), &count, sizeof count);
  }
}

}  // namespace sluice::sharp
