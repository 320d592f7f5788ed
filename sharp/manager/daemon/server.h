// SPDX-License-Identifier: Apache-2.0
// The manager as a server: a listener, sessions, an event loop over epoll, one thread.
//
// A round of the loop reads what has come, writes what changed to the disk, and only then sends the
// answers. Thread rule: run() on one thread; stop() and the gate from any thread, stop() from a
// signal handler too.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/log.h"
#include "base/result.h"
#include "sharp/manager/control/queue.h"
#include "sharp/manager/daemon/manager.h"
#include "sharp/manager/daemon/session.h"
#include "transport/endpoint.h"
#include "transport/event_poll.h"

namespace sluice::manager {

class ManagerServer final : private Outbox, private Session::Owner {
 public:
  struct Options {
    transport::SocketAddress listen;
    ManagerSettings manager;
  };

  // `context` outlives the server.
  static Result<std::unique_ptr<ManagerServer>> open(transport::Context& context, Options options,
                                                     Fabric fabric);
  ~ManagerServer();

  transport::ListenerAddress address() const { return listener_->address(); }
  ControlGate& gate() { return gate_; }
  // Until stop(). An error: the listener or the loop itself broke.
  Status run();
  void stop();

 private:
  ManagerServer(transport::Context& context, std::unique_ptr<transport::Listener> listener,
                transport::EventPoll poll);

  Status accept_all();
  Status wait(int timeout_ms);
  void drive_active();
  void answer();
  void rest();
  void bury();
  void activate(PeerId peer);

  void post(PeerId peer, std::vector<sharp::Message> pieces) override;
  void dismiss(PeerId peer, const std::string& reason) override;
  Status on_message(Session& session, const sharp::Envelope& message) override;

  const Logger logger_;
  std::unique_ptr<transport::Listener> listener_;
  transport::EventPoll poll_;
  std::atomic<bool> stopping_{false};
  ControlQueue gate_;
  std::unique_ptr<Manager> manager_;
  std::unordered_map<PeerId, std::unique_ptr<Session>> sessions_;
  std::vector<PeerId> active_;
  std::vector<PeerId> posted_;  // with answers to be sent
  PeerId next_peer_ = 1;
  TimePoint next_tick_{};
  TimePoint next_sweep_{};
  LogLimiter strangers_{20};
};

}  // namespace sluice::manager
