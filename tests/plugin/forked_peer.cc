// SPDX-License-Identifier: Apache-2.0
#include "tests/plugin/forked_peer.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <thread>

namespace sluice::test {

Pipe::~Pipe() {
  close(descriptor_);
}

bool Pipe::send(const void* data, size_t size) {
  return ::send(descriptor_, data, size, MSG_NOSIGNAL) == static_cast<ssize_t>(size);
}

bool Pipe::receive(void* data, size_t size) {
  return recv(descriptor_, data, size, MSG_WAITALL) == static_cast<ssize_t>(size);
}

ForkedPeer::ForkedPeer(const std::function<int(Pipe&)>& body) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) std::abort();
  child_ = fork();
  if (child_ < 0) std::abort();
  if (child_ == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    close(ends[0]);
    Pipe pipe(ends[1]);
    _exit(body(pipe));
  }
  close(ends[1]);
  pipe_ = std::make_unique<Pipe>(ends[0]);
}

ForkedPeer::~ForkedPeer() {
  if (child_ <= 0) return;
  kill(child_, SIGKILL);
  waitpid(child_, nullptr, 0);
}

void ForkedPeer::signal(int number) {
  kill(child_, number);
}

int ForkedPeer::wait() {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  for (;;) {
    int status = 0;
    if (waitpid(child_, &status, WNOHANG) == child_) {
      child_ = -1;
      return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    }
    if (std::chrono::steady_clock::now() > end) return -1;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

}  // namespace sluice::test
