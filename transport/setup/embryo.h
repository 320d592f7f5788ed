// SPDX-License-Identifier: Apache-2.0
// A connection that is being set up, as its listener sees it: from the hello to the Connection.
// Thread rule: as its Listener, which owns it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "transport/endpoint.h"
#include "transport/setup/setup_socket.h"
#include "transport/setup/shm_handshake.h"

namespace sluice::transport {

// What of the listener its embryos need.
struct Host {
  Context& context;
  Purpose purpose;
  uint64_t secret;
  uint64_t identity;
  std::string local_socket;  // empty: no shared memory here
};

class Embryo {
 public:
  // Reads the hello and answers it. An error says why the connector was refused (it was told).
  static Result<std::unique_ptr<Embryo>> create(const Host& host, SetupSocket socket,
                                                const Hello& hello, const std::string& from);

  uint64_t nonce() const { return nonce_; }
  const std::string& peer() const { return peer_; }
  int setup_fd() const { return socket_.fd(); }

  // Another socket of the same connector: a stream, or the unix socket.
  Status attach(SetupSocket socket, uint32_t stream, bool local);
  // nullptr: not yet. An error ends the embryo.
  Result<std::unique_ptr<Connection>> progress();
  // Grows with each step that the connector takes.
  int steps() const { return steps_; }

 private:
  Embryo(const Host& host, SetupSocket socket, const Hello& hello, std::string peer);
  Result<Kind> choose() const;
  Status welcome(Kind kind);
  Status refuse(const std::string& sentence);
  Status read_setup();
  Status fall_back(const std::string& reason);
  Result<std::unique_ptr<Connection>> progress_shm();
  Result<std::unique_ptr<Connection>> progress_tcp();
  Result<Watch> finish();
  bool direct() const;

  const Host& host_;
  SetupSocket socket_;
  const Hello hello_;
  const std::string peer_;
  const uint64_t nonce_;
  Kind kind_ = Kind::tcp;
  int steps_ = 0;
  std::vector<FileDescriptor> streams_;
  std::optional<SetupSocket> local_;
  std::optional<shm::Parts> parts_;
};

// "10.0.0.2:4711 (node7, pid 17)"
std::string peer_text(const std::string& address, const std::string& host_name, uint32_t process);
uint64_t to_wire(Duration timeout);
Duration from_wire(uint64_t milliseconds);

}  // namespace sluice::transport
