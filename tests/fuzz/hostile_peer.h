// SPDX-License-Identifier: Apache-2.0
// The other end of a connection that says what the fuzzer's bytes tell it: garbage as it is, and
// messages and chunks that are right but for some of their fields, so that what lies behind the
// decoders is reached as well.
#pragma once

#include <memory>
#include <vector>

#include "sharp/wire/chunk.h"
#include "sharp/wire/membership.h"
#include "tests/fuzz/input.h"
#include "transport/transport.h"

namespace sluice::fuzz {

// One group that all peers are about: small, so that few bytes fill it.
sharp::GroupShape small_group(uint16_t members);

class HostilePeer final : public transport::ConnectionHandler {
 public:
  // `child`: which child of the node this peer is, or (a node's side) has. `goes_up`: it says what
  // a child says, else what a node says.
  HostilePeer(std::unique_ptr<transport::Connection> connection, uint16_t children, uint16_t child,
              bool goes_up);

  void join(uint16_t levels);
  // One thing, as the input says.
  void act(Input& input);
  void drive();
  void hang_up() { connection_.reset(); }

 private:
  void send(std::span<const std::byte> head, std::span<const std::byte> body = {});
  void say_control(Input& input);
  void say_chunk(Input& input);
  void announce(Input& input);
  sharp::ChunkHeader chunk_of(Input& input);

  Status on_announcement(std::span<const transport::RemoteWindow> windows,
                         std::span<const std::byte> note) override;
  Status on_message(std::span<const std::byte> message) override;
  Status on_arrival(transport::WindowId window, uint64_t offset, uint64_t size,
                    std::span<const std::byte> record) override;
  Status on_written(uint64_t token) override;

  std::unique_ptr<transport::Connection> connection_;
  const uint16_t children_;
  const uint16_t child_;
  const bool goes_up_;
  std::vector<transport::RemoteWindow> windows_;  // of the other side
  std::vector<std::byte> own_memory_;
  std::vector<std::byte> payload_;  // of writes
  uint64_t sequence_ = 0;
};

}  // namespace sluice::fuzz
