// SPDX-License-Identifier: Apache-2.0
#include "transport/event_poll.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace sluice::transport {
namespace {

constexpr uint64_t kWakeUpTag = ~uint64_t{0};

}  // namespace

Result<EventPoll> EventPoll::open() {
  FileDescriptor epoll(::epoll_create1(EPOLL_CLOEXEC));
  if (!epoll) return fail_errno(errno, "creating an epoll instance");
  FileDescriptor wake_up(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake_up) return fail_errno(errno, "creating an eventfd");
  EventPoll poll(std::move(epoll), std::move(wake_up));
  SLUICE_RETURN_IF_ERROR(poll.add(poll.wake_up_.get(), kWakeUpTag));
  return poll;
}

Status EventPoll::add(int descriptor, uint64_t tag) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = tag;
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, descriptor, &event) != 0) {
    return fail_errno(errno, "watching a connection");
  }
  return {};
}

void EventPoll::pause(int descriptor, uint64_t tag, bool on) {
  epoll_event event{};
  if (!on) event.events = EPOLLIN;
  event.data.u64 = tag;
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, descriptor, &event);
}

Result<std::span<const uint64_t>> EventPoll::wait(int timeout_ms) {
  std::array<epoll_event, std::tuple_size_v<decltype(ready_)>> events;
  const int count =
      ::epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), timeout_ms);
  if (count < 0 && errno != EINTR) return fail_errno(errno, "waiting for events");
  size_t ready = 0;
  for (int at = 0; at < count; ++at) {
    const uint64_t tag = events[static_cast<size_t>(at)].data.u64;
    if (tag == kWakeUpTag) {
      uint64_t wakes = 0;
      [[maybe_unused]] const ssize_t got = ::read(wake_up_.get(), &wakes, sizeof wakes);
    } else {
      ready_[ready++] = tag;
    }
  }
  return std::span<const uint64_t>(ready_).first(ready);
}

void EventPoll::wake() {
  const uint64_t one = 1;
  // A full counter wakes just as well.
  [[maybe_unused]] const ssize_t written = ::write(wake_up_.get(), &one, sizeof one);
}

}  // namespace sluice::transport
