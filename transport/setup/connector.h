// SPDX-License-Identifier: Apache-2.0
// The connecting side of set-up, as a state machine. Thread rule: transport/endpoint.h.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "transport/endpoint.h"
#include "transport/setup/setup_socket.h"
#include "transport/setup/shm_handshake.h"

namespace sluice::transport {

class TcpConnector final : public Connector {
 public:
  TcpConnector(Context& context, const ListenerAddress& address,
               const SocketAddress& socket_address);
  ~TcpConnector() override = default;

  Result<std::unique_ptr<Connection>> progress() override;

 private:
  enum class State {
    resting,           // until the next try
    connecting,        // the set-up socket
    greeted,           // hello sent, welcome awaited
    connecting_local,  // shm: the unix socket
    local_attached,    // shm: offer awaited
    attaching,         // tcp: the streams
    prepared,          // ready awaited
    done,
  };

  Result<std::unique_ptr<Connection>> step();
  Status start_connecting();
  Status finish_connecting();
  Status retry_or_fail(int error);
  Status greet();
  Status await_answer();
  Status take_welcome(const Welcome& welcome);
  Status attach_local();
  Status await_offer();
  Status fall_back(const std::string& reason);
  Status start_streams();
  Status attach_streams();
  Result<std::unique_ptr<Connection>> finish();
  Result<std::unique_ptr<Connection>> end_with(Error error);
  Error too_late() const;

  Context& context_;
  const ListenerAddress address_;
  const SocketAddress socket_address_;
  std::string peer_;
  const Deadline deadline_;
  State state_ = State::resting;
  TimePoint next_try_;
  int tries_ = 0;
  int last_error_ = 0;
  FileDescriptor connecting_;
  std::optional<SetupSocket> setup_;
  Welcome welcome_;
  struct StreamAttempt {
    FileDescriptor socket;
    bool attached = false;
  };
  std::vector<StreamAttempt> streams_;
  std::optional<SetupSocket> local_;
  std::optional<shm::Parts> parts_;
  std::optional<Error> error_;
};

}  // namespace sluice::transport
