// SPDX-License-Identifier: Apache-2.0
// A child of a node that speaks the wire and nothing else: an honest rank for tests of the node.
//
// It joins, sends its operations chunk by chunk as its window allows, collects the results, asks
// again for what arrives damaged and sends again what it is asked for. Thread rule: one thread.
#pragma once

#include <array>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sharp/wire/chunk.h"
#include "sharp/wire/limits.h"
#include "sharp/wire/membership.h"
#include "transport/transport.h"

namespace sluice::sharp::testing {

using Bytes = std::vector<std::byte>;

// What all ranks call alike.
struct Call {
  Collective collective = Collective::allreduce;
  DataType type = DataType::float32;
  ReduceOperator reduce_operator = ReduceOperator::sum;
  size_t elements = 0;
  uint16_t focus = 0;
  TrafficClass traffic_class = TrafficClass::streaming;

  size_t bytes() const { return elements * size_of(type); }
};

struct PeerOperation {
  Call call;
  Bytes input;
  bool no_result = false;

  Bytes output;
  uint64_t number = 0;
  uint32_t limit = 0;  // bytes of a chunk
  uint64_t chunks = 0;
  uint64_t sent = 0;
  uint64_t arrived = 0;
  uint64_t payloads = 0;  // of them with a payload
  bool done() const { return arrived == chunks; }
};

class WirePeer final : public transport::ConnectionHandler {
 public:
  // Asks to join at once.
  WirePeer(std::unique_ptr<transport::Connection> own, const Join& join);

  PeerOperation& post(const Call& call, Bytes input, bool no_result = false);
  void drive();
  bool is_in() const { return joined && slots; }
  void leave();

  std::unique_ptr<transport::Connection> connection;
  const Join join;
  std::deque<PeerOperation> operations;
  bool joined = false;
  std::optional<transport::RemoteWindow> slots;
  std::optional<Refused> refused;
  std::optional<GroupError> group_error;
  std::string lost;
  int damaged = 0;     // results that were asked for again
  int sent_again = 0;  // chunks that were asked for again
  bool deaf = false;   // reads nothing, sends nothing

 private:
  struct Flight {
    PeerOperation* operation = nullptr;
    uint64_t sequence = 0;
    uint64_t chunk = 0;
  };
  struct Stream {
    uint64_t next = 0;
    std::vector<Flight> window;
    std::deque<PeerOperation*> queue;
  };

  Stream& stream(TrafficClass traffic_class) {
    return streams_[static_cast<size_t>(traffic_class)];
  }
  void pump(TrafficClass traffic_class);
  void send(const Flight& flight);
  Status take(const ChunkHeader& header, std::span<const std::byte> payload);

  Status on_announcement(std::span<const transport::RemoteWindow> windows,
                         std::span<const std::byte> note) override;
  Status on_message(std::span<const std::byte> message) override;
  Status on_arrival(transport::WindowId window, uint64_t offset, uint64_t size,
                    std::span<const std::byte> record) override;
  Status on_written(uint64_t) override { return {}; }

  std::array<Stream, kTrafficClasses> streams_;
};

}  // namespace sluice::sharp::testing
