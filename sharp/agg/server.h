// SPDX-License-Identifier: Apache-2.0
// The node as a server: a listener, an event loop over epoll, one thread.
//
// The loop spins for a moment after bytes have moved (waking up costs more than a small reduction
// takes), then sleeps until a connection has something to do. Thread rule: run() on one thread;
// stop() from any thread or signal handler.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/log.h"
#include "base/result.h"
#include "sharp/agg/node.h"
#include "transport/endpoint.h"
#include "transport/event_poll.h"

namespace sluice::sharp {

// What else lives in the server's loop, on its thread: the registration with a manager.
class LoopGuest {
 public:
  virtual ~LoopGuest() = default;
  // About every 100 ms; must not block. May drain the node.
  virtual void on_tick(AggregationNode& node) = 0;
};

struct ServerOptions {
  transport::SocketAddress listen;
  NodeLimits limits;
  Duration spin = std::chrono::microseconds(100);   // polling, politely, before it sleeps
  Duration statistics_interval = Duration::zero();  // 0: no statistics in the log
  LoopGuest* guest = nullptr;                       // outlives the server; may be null
};

class AggregationServer final : private EventSource, private ParentDialer {
 public:
  // `context` outlives the server.
  static Result<std::unique_ptr<AggregationServer>> open(transport::Context& context,
                                                         const ServerOptions& options);

  transport::ListenerAddress address() const { return listener_->address(); }
  // Until stop(). An error: the listener or the loop itself broke.
  Status run();
  void stop();
  // From any thread or signal handler: no new groups from now on.
  void drain();
  // From any thread: run() returns when no group has anything under way any more, at the latest
  // after `limit`.
  void finish(Duration limit);

 private:
  AggregationServer(transport::Context& context_of_server, const ServerOptions& options,
                    std::unique_ptr<transport::Listener> listener, transport::EventPoll poll);

  Status add(int descriptor, uint64_t id) override;
  void pause(int descriptor, uint64_t id, bool on) override;
  Result<std::unique_ptr<transport::Connector>> dial(const std::string& node) override;

  Status accept_all();
  Status wait(int timeout_ms);
  int time_to_sleep(TimePoint now);
  void tick(TimePoint now);
  bool is_over(TimePoint now);
  void log_statistics();

  transport::Context& context_;
  const Logger logger_;
  const ServerOptions options_;
  std::unique_ptr<transport::Listener> listener_;
  transport::EventPoll poll_;
  std::atomic<bool> stopping_{false};
  std::atomic<bool> drain_wanted_{false};
  std::atomic<int64_t> finish_within_{-1};  // nanoseconds; negative: not asked for
  AggregationNode node_;
  Deadline finish_by_;
  TimePoint quiet_since_{};
  TimePoint next_tidy_{};
  TimePoint next_statistics_{};
  TimePoint last_moved_{};
};

}  // namespace sluice::sharp
