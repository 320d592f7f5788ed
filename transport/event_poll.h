// SPDX-License-Identifier: Apache-2.0
// What an event loop sleeps on: several descriptors at once, each with a number of the caller's,
// and a wake-up from elsewhere. epoll and an eventfd.
//
// Thread rule: one thread; wake() from any thread or signal handler. Owns its two descriptors, not
// those that it watches.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <utility>

#include "base/result.h"
#include "transport/file_descriptor.h"

namespace sluice::transport {

class EventPoll {
 public:
  static Result<EventPoll> open();

  // Any tag but the highest number. A descriptor is forgotten when it is closed.
  Status add(int descriptor, uint64_t tag);
  // Its events are not reported while it is paused.
  void pause(int descriptor, uint64_t tag, bool on);

  // The tags of what is readable, at most 64 of them; none when the time is over or after wake().
  // Valid until the next call.
  Result<std::span<const uint64_t>> wait(int timeout_ms);
  // Async-signal-safe.
  void wake();

 private:
  EventPoll(FileDescriptor epoll, FileDescriptor wake_up)
      : epoll_(std::move(epoll)), wake_up_(std::move(wake_up)) {}

  FileDescriptor epoll_;
  FileDescriptor wake_up_;
  std::array<uint64_t, 64> ready_{};
};

}  // namespace sluice::transport
