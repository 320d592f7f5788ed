// SPDX-License-Identifier: Apache-2.0
#include "sharp/agg/server.h"

#include <arpa/inet.h>

#include <algorithm>
#include <thread>
#include <utility>

namespace sluice::sharp {
namespace {

// Children's ids start at 1.
constexpr uint64_t kListenerTag = 0;

constexpr auto kTidyInterval = std::chrono::milliseconds(100);
// While the way to a parent is set up, which no event tells of.
constexpr auto kSetupInterval = std::chrono::milliseconds(1);
// How long nothing must be under way before a server that is to finish believes it.
constexpr auto kQuietTime = std::chrono::milliseconds(50);

// "10.0.0.1:7654", "[fe80::1%eth0]:7654"
bool is_numeric(const std::string& address) {
  std::string host = address.substr(0, address.rfind(':'));
  if (!host.empty() && host.front() == '[') host = host.substr(1, host.find_first_of("%]") - 1);
  in6_addr ignored;
  return ::inet_pton(AF_INET, host.c_str(), &ignored) == 1 ||
         ::inet_pton(AF_INET6, host.c_str(), &ignored) == 1;
}

}  // namespace

Result<std::unique_ptr<AggregationServer>> AggregationServer::open(transport::Context& context,
                                                                   const ServerOptions& options) {
  transport::Listener::Options listen;
  listen.purpose = transport::Purpose::aggregation;
  listen.bind = options.listen;
  listen.secret = false;
  auto listener = transport::Listener::open(context, listen);
  if (!listener) return fail(std::move(listener).error());
  auto poll = transport::EventPoll::open();
  if (!poll) return fail(std::move(poll).error());
  std::unique_ptr<AggregationServer> server(
      new AggregationServer(context, options, std::move(*listener), std::move(*poll)));
  SLUICE_RETURN_IF_ERROR(server->add(server->listener_->event_fd(), kListenerTag));
  return server;
}

AggregationServer::AggregationServer(transport::Context& context_of_server,
                                     const ServerOptions& options,
                                     std::unique_ptr<transport::Listener> listener,
                                     transport::EventPoll poll)
    : context_(context_of_server),
      logger_(context_of_server.logger()),
      options_(options),
      listener_(std::move(listener)),
      poll_(std::move(poll)),
      node_(logger_, options.limits, *this, this) {}

Status AggregationServer::add(int descriptor, uint64_t id) {
  return poll_.add(descriptor, id);
}

void AggregationServer::pause(int descriptor, uint64_t id, bool on) {
  poll_.pause(descriptor, id, on);
}

Result<std::unique_ptr<transport::Connector>> AggregationServer::dial(const std::string& node) {
  // A name would have to be looked up, and that blocks.
  if (!is_numeric(node)) {
    return fail(ErrorKind::refused, "\"" + node + "\" is no numeric address");
  }
  const auto address = transport::SocketAddress::parse(node);
  if (!address) return fail(address.error());
  constexpr auto kPurpose = transport::Purpose::aggregation;
  return transport::Connector::open(context_, transport::address_of(*address, kPurpose), kPurpose);
}

void AggregationServer::stop() {
  stopping_.store(true, std::memory_order_release);
  poll_.wake();
}

void AggregationServer::drain() {
  drain_wanted_.store(true, std::memory_order_release);
  poll_.wake();
}

Status AggregationServer::accept_all() {
  for (;;) {
    auto connection = listener_->accept();
    if (!connection) return fail(std::move(connection).error());
    if (*connection == nullptr) return {};
    node_.adopt(std::move(*connection));
  }
}

Status AggregationServer::wait(int timeout_ms) {
  const auto ready = poll_.wait(timeout_ms);
  if (!ready) return fail(ready.error());
  for (const uint64_t tag : *ready) {
    if (tag == kListenerTag) {
      SLUICE_RETURN_IF_ERROR(accept_all());
    } else {
      node_.on_event(tag);
    }
  }
  return {};
}

void AggregationServer::finish(Duration limit) {
  finish_within_.store(std::chrono::nanoseconds(limit).count(), std::memory_order_release);
  poll_.wake();
}

bool AggregationServer::is_over(TimePoint now) {
  if (stopping_.load(std::memory_order_acquire)) return true;
  const int64_t within = finish_within_.load(std::memory_order_acquire);
  if (within < 0) return false;
  if (finish_by_.never()) {
    finish_by_ = Deadline::after(std::chrono::nanoseconds(within));
    quiet_since_ = now;
    node_.drain(true);
  }
  if (!node_.quiet()) quiet_since_ = now;
  return node_.statistics().groups == 0 || now - quiet_since_ > kQuietTime || finish_by_.passed();
}

void AggregationServer::tick(TimePoint now) {
  next_tidy_ = now + kTidyInterval;
  // Connections are also looked at without being asked: a peer may have gone in silence.
  node_.activate_all();
  node_.step();
  node_.tidy();
  if (options_.guest != nullptr) options_.guest->on_tick(node_);
  log_statistics();
}

int AggregationServer::time_to_sleep(TimePoint now) {
  if (!node_.rest(options_.spin) || now - last_moved_ < options_.spin) return 0;
  if (node_.connecting()) {
    next_tidy_ = std::min<TimePoint>(next_tidy_, now + kSetupInterval);
    return static_cast<int>(kSetupInterval.count());
  }
  const bool finishing = finish_within_.load(std::memory_order_acquire) >= 0;
  return static_cast<int>((finishing ? kQuietTime : kTidyInterval).count());
}

Status AggregationServer::run() {
  while (!is_over(Clock::now())) {
    if (drain_wanted_.exchange(false, std::memory_order_acq_rel)) node_.drain(true);
    const bool moved = node_.step();
    const TimePoint now = Clock::now();
    if (moved) last_moved_ = now;
    if (now >= next_tidy_) {
      tick(now);
      SLUICE_RETURN_IF_ERROR(accept_all());
    }
    const int sleep_ms = time_to_sleep(now);
    SLUICE_RETURN_IF_ERROR(wait(sleep_ms));
    // Whoever is to bring the next chunk may need this core.
    if (!moved && sleep_ms == 0) std::this_thread::yield();
  }
  return {};
}

void AggregationServer::log_statistics() {
  if (options_.statistics_interval <= Duration::zero()) return;
  const TimePoint now = Clock::now();
  if (now < next_statistics_) return;
  next_statistics_ = now + options_.statistics_interval;
  const auto statistics = node_.statistics();
  const auto& data = statistics.data;
  SLUICE_INFO(
      logger_, collective,
      "%zu groups, %zu connections, %zu bytes of memory active, %zu reserved; since the "
      "start %llu groups, %llu chunks and %llu bytes reduced, %llu damaged, %llu sent again, %llu "
      "wrong",
      statistics.groups, statistics.children, statistics.active_memory, statistics.reserved_memory,
      static_cast<unsigned long long>(statistics.groups_formed),
      static_cast<unsigned long long>(data.chunks), static_cast<unsigned long long>(data.bytes),
      static_cast<unsigned long long>(data.checksum_errors),
      static_cast<unsigned long long>(data.resent), static_cast<unsigned long long>(data.wrong));
}

}  // namespace sluice::sharp
