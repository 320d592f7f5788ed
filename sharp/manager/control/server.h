// SPDX-License-Identifier: Apache-2.0
// The control interface as a gRPC server. The only file of the daemon that knows gRPC is server.cc.
//
// gRPC's own threads take the calls and hand them through the gate to the event loop. Nobody is
// asked who he is yet: it listens where only the host's own people can come (loopback), and TLS and
// tokens have their place in server.cc, where the credentials are made.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/result.h"
#include "sharp/manager/control/backend.h"

namespace sluice::manager {

class ControlServer {
 public:
  // `gate` outlives the server. An address with port 0 gets any free one.
  static Result<std::unique_ptr<ControlServer>> open(const std::string& address, ControlGate& gate);
  // Ends the calls that are under way.
  virtual ~ControlServer() = default;
  virtual uint16_t port() const = 0;
};

}  // namespace sluice::manager
