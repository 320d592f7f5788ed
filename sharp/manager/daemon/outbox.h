// SPDX-License-Identifier: Apache-2.0
// How the manager's parts speak to clients and nodes without knowing connections.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sharp/wire/pieces.h"

namespace sluice::manager {

// A connection of a client or a node, for as long as it lives; 0: none. Never used again.
using PeerId = uint64_t;

class Outbox {
 public:
  // Kept until the state is on the disk, then sent. A peer that has gone gets nothing.
  virtual void post(PeerId peer, std::vector<sharp::Message> pieces) = 0;
  // Ends the connection once what was posted is out.
  virtual void dismiss(PeerId peer, const std::string& reason) = 0;

  template <typename T>
  void send(PeerId peer, const T& message) {
    post(peer, sharp::encode_pieces(message));
  }

 protected:
  ~Outbox() = default;
};

}  // namespace sluice::manager
