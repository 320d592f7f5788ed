// SPDX-License-Identifier: Apache-2.0
// Stream: a non-blocking socket with queues of memory to send and to fill, for the test plugin.
// Thread rule: one thread at a time.
#pragma once

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <deque>

namespace sluice::test {

class Stream {
 public:
  explicit Stream(int fd) : fd_(fd) {}
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  ~Stream() { ::close(fd_); }

  // `pending` is counted up now and down when the memory is no longer needed.
  void send(const void* data, size_t size, int* pending) {
    ++*pending;
    sends_.push_back({const_cast<char*>(static_cast<const char*>(data)), size, pending});
  }
  void receive(void* data, size_t size, int* pending) {
    ++*pending;
    receives_.push_back({static_cast<char*>(data), size, pending});
  }

  // Moves what can be moved; false once the connection is broken.
  bool pump() {
    while (!broken_ && !sends_.empty()) {
      Job& job = sends_.front();
      if (!step(job, ::send(fd_, job.data, job.left, MSG_NOSIGNAL), sends_)) break;
    }
    while (!broken_ && !receives_.empty()) {
      Job& job = receives_.front();
      const ssize_t got = job.left == 0 ? 0 : ::recv(fd_, job.data, job.left, 0);
      if (got == 0 && job.left != 0) broken_ = true;
      if (broken_ || !step(job, got, receives_)) break;
    }
    return !broken_;
  }

 private:
  struct Job {
    char* data;
    size_t left;
    int* pending;
  };

  bool step(Job& job, ssize_t moved, std::deque<Job>& queue) {
    if (moved < 0) {
      broken_ = errno != EAGAIN && errno != EINTR;
      return false;
    }
    job.data += moved;
    job.left -= static_cast<size_t>(moved);
    if (job.left != 0) return true;
    --*job.pending;
    queue.pop_front();
    return true;
  }

  int fd_;
  bool broken_ = false;
  std::deque<Job> sends_;
  std::deque<Job> receives_;
};

}  // namespace sluice::test
