// SPDX-License-Identifier: Apache-2.0
// The data path of a group: chunks in, one reduction when the last member's has come, results out.
//
// Memory, all of it leased at the first join: per member W slots that its chunks are written into,
// and 2 W results on their way out (a fast member may have filled its window again while a slow one
// still lacks the results of the last round). A result is free again when the connections have let
// go of it; if none is free the chunk waits in its slots, and so do the members, for want of its
// result. Thread rule: one thread. Ports must be detached before they go.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "base/result.h"
#include "sharp/agg/member_port.h"
#include "sharp/agg/slot_ring.h"
#include "sharp/wire/chunk.h"
#include "sharp/wire/membership.h"

namespace sluice::sharp {

struct DataCounters {
  uint64_t chunks = 0;           // reduced
  uint64_t bytes = 0;            // of results
  uint64_t checksum_errors = 0;  // chunks that arrived damaged
};

class Reducer {
 public:
  static uint64_t memory_for(const GroupShape& shape);

  // `memory` has memory_for(shape) bytes; `counters` outlives the reducer.
  Reducer(const GroupShape& shape, std::span<std::byte> memory, DataCounters& counters);

  // Announces the member's slots to it.
  Status attach(uint16_t rank, MemberPort& port);
  void detach(uint16_t rank);

  // A streaming chunk lies in its slot already; the payload of a latency chunk is copied. An error
  // is a sentence for the whole group.
  Status on_streaming(uint16_t rank, const ChunkHeader& header, transport::WindowId window,
                      uint64_t offset, uint64_t size);
  Status on_latency(uint16_t rank, const ChunkHeader& header, std::span<const std::byte> payload);
  Status on_result_window(uint16_t rank, const transport::RemoteWindow& window, uint64_t operation);
  Status on_written(uint16_t rank, uint64_t token);

  // Somebody waits for somebody.
  bool has_partial() const;

 private:
  struct ResultWindow {
    transport::RemoteWindow window;
    uint64_t operation = 0;
    bool announced = false;
  };
  struct Delivery {
    ChunkHeader header;
    uint32_t result = 0;
  };
  struct Member {
    MemberPort* port = nullptr;
    std::unique_ptr<transport::MemoryRegion> region;  // of all the group's memory
    std::vector<ResultWindow> windows;
    std::vector<Delivery> waiting;  // for their window's announcement
  };

  SlotRing& ring(TrafficClass traffic_class) { return rings_[static_cast<size_t>(traffic_class)]; }
  std::byte* slot_address(TrafficClass traffic_class, uint16_t rank, uint32_t slot);
  std::byte* result_address(uint32_t result);

  Status check_chunk(uint16_t rank, const ChunkHeader& header);
  Status arrive(uint16_t rank, const ChunkHeader& header);
  void reduce_slot(TrafficClass traffic_class, uint32_t slot, void* out);
  void finish_latency(uint32_t slot);
  Status finish_streaming(uint32_t slot);
  Status finish_ready();
  Status deliver(uint16_t rank, const Delivery& delivery);
  void let_go(uint16_t rank, uint32_t result);

  GroupShape shape_;
  std::span<std::byte> memory_;
  DataCounters& counters_;
  std::vector<SlotRing> rings_;  // by class
  std::vector<Member> members_;
  std::vector<const void*> inputs_;  // scratch of a reduction
  std::vector<uint64_t> holders_;    // by result: the set of members it is still being written to
  std::vector<uint32_t> free_;       // results, the last used (warm in the cache) on top
  std::deque<uint32_t> ready_;       // complete streaming slots that wait for a free result
};

}  // namespace sluice::sharp
