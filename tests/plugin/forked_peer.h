// SPDX-License-Identifier: Apache-2.0
// A rank in a process of its own, with a pair of sockets to talk to it. Fork before the plugin is
// loaded: the child then starts from a process without threads.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <functional>
#include <memory>

namespace sluice::test {

// Both ends talk through this; a dead peer makes them return false.
class Pipe {
 public:
  explicit Pipe(int descriptor) : descriptor_(descriptor) {}
  ~Pipe();
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  bool send(const void* data, size_t size);
  bool receive(void* data, size_t size);

 private:
  int descriptor_;
};

class ForkedPeer {
 public:
  // The child runs `body` and ends by _exit() with what it returns.
  explicit ForkedPeer(const std::function<int(Pipe&)>& body);
  ~ForkedPeer();  // kills a child that still runs
  ForkedPeer(const ForkedPeer&) = delete;
  ForkedPeer& operator=(const ForkedPeer&) = delete;

  Pipe& pipe() { return *pipe_; }
  void signal(int number);
  // The exit status; 128 + number after a signal; -1 when it does not end in time.
  int wait();

 private:
  pid_t child_ = -1;
  std::unique_ptr<Pipe> pipe_;
};

}  // namespace sluice::test
