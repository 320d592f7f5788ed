// SPDX-License-Identifier: Apache-2.0
#include "sharp/agg/server.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>

#include <array>
#include <cerrno>
#include <thread>
#include <utility>

namespace sluice::sharp {
namespace {

using transport::FileDescriptor;

// Tags of epoll events; children's ids start at 1.
constexpr uint64_t kListenerTag = ~uint64_t{0};
constexpr uint64_t kWakeTag = ~uint64_t{0} - 1;

constexpr int kEventsPerWait = 64;
constexpr auto kTidyInterval = std::chrono::milliseconds(100);

}  // namespace

Result<std::unique_ptr<AggregationServer>> AggregationServer::open(transport::Context& context,
                                                                   const ServerOptions& options) {
  transport::Listener::Options listen;
  listen.purpose = transport::Purpose::aggregation;
  listen.bind = options.listen;
  listen.secret = false;
  auto listener = transport::Listener::open(context, listen);
  if (!listener) return fail(std::move(listener).error());
  FileDescriptor epoll(::epoll_create1(EPOLL_CLOEXEC));
  if (!epoll) return fail_errno(errno, "creating an epoll instance");
  FileDescriptor wake(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake) return fail_errno(errno, "creating an eventfd");
  std::unique_ptr<AggregationServer> server(new AggregationServer(
      context, options, std::move(*listener), std::move(epoll), std::move(wake)));
  SLUICE_RETURN_IF_ERROR(server->watch(server->listener_->event_fd(), kListenerTag));
  SLUICE_RETURN_IF_ERROR(server->watch(server->wake_.get(), kWakeTag));
  return server;
}

AggregationServer::AggregationServer(transport::Context& context, const ServerOptions& options,
                                     std::unique_ptr<transport::Listener> listener,
                                     FileDescriptor epoll, FileDescriptor wake)
    : logger_(context.logger()),
      options_(options),
      listener_(std::move(listener)),
      epoll_(std::move(epoll)),
      wake_(std::move(wake)),
      node_(context.logger(), options.limits) {}

Status AggregationServer::watch(int fd, uint64_t tag) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = tag;
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) != 0) {
    return fail_errno(errno, "watching a connection");
  }
  return {};
}

void AggregationServer::stop() {
  stopping_.store(true, std::memory_order_release);
  wake();
}

void AggregationServer::drain() {
  drain_wanted_.store(true, std::memory_order_release);
  wake();
}

void AggregationServer::wake() {
  const uint64_t one = 1;
  // Async-signal-safe; a full counter wakes just as well.
  [[maybe_unused]] const ssize_t written = ::write(wake_.get(), &one, sizeof one);
}

Status AggregationServer::accept_all() {
  for (;;) {
    auto connection = listener_->accept();
    if (!connection) return fail(std::move(connection).error());
    if (*connection == nullptr) return {};
    const int fd = (*connection)->event_fd();
    SLUICE_RETURN_IF_ERROR(watch(fd, node_.adopt(std::move(*connection))));
  }
}

Status AggregationServer::wait(int timeout_ms) {
  std::array<epoll_event, kEventsPerWait> events;
  const int count = ::epoll_wait(epoll_.get(), events.data(), kEventsPerWait, timeout_ms);
  if (count < 0) return errno == EINTR ? Status() : fail_errno(errno, "waiting for events");
  for (int at = 0; at < count; ++at) {
    const uint64_t tag = events[static_cast<size_t>(at)].data.u64;
    if (tag == kListenerTag) {
      SLUICE_RETURN_IF_ERROR(accept_all());
    } else if (tag == kWakeTag) {
      uint64_t count_of_wakes = 0;
      [[maybe_unused]] const ssize_t got =
          ::read(wake_.get(), &count_of_wakes, sizeof count_of_wakes);
    } else {
      node_.activate(tag);
    }
  }
  return {};
}

Status AggregationServer::run() {
  while (!stopping_.load(std::memory_order_acquire)) {
    if (drain_wanted_.exchange(false, std::memory_order_acq_rel)) node_.drain(true);
    const bool moved = node_.step();
    const TimePoint now = Clock::now();
    if (moved) last_moved_ = now;
    if (now >= next_tidy_) {
      next_tidy_ = now + kTidyInterval;
      // Connections are also looked at without being asked: a peer may have gone in silence.
      node_.activate_all();
      node_.step();
      node_.tidy();
      if (options_.guest != nullptr) options_.guest->on_tick(node_);
      SLUICE_RETURN_IF_ERROR(accept_all());
      log_statistics();
    }
    const bool resting = node_.rest(options_.spin);
    const bool sleep = resting && now - last_moved_ >= options_.spin;
    SLUICE_RETURN_IF_ERROR(wait(sleep ? static_cast<int>(kTidyInterval.count()) : 0));
    // Whoever is to bring the next chunk may need this core.
    if (!moved && !sleep) std::this_thread::yield();
  }
  return {};
}

void AggregationServer::log_statistics() {
  if (options_.statistics_interval <= Duration::zero()) return;
  const TimePoint now = Clock::now();
  if (now < next_statistics_) return;
  next_statistics_ = now + options_.statistics_interval;
  const auto statistics = node_.statistics();
  SLUICE_INFO(logger_, collective,
              "%zu groups, %zu connections, %zu bytes of memory lent; since the start %llu groups, "
              "%llu chunks and %llu bytes reduced, %llu damaged",
              statistics.groups, statistics.children, statistics.memory,
              static_cast<unsigned long long>(statistics.groups_formed),
              static_cast<unsigned long long>(statistics.data.chunks),
              static_cast<unsigned long long>(statistics.data.bytes),
              static_cast<unsigned long long>(statistics.data.checksum_errors));
}

}  // namespace sluice::sharp
