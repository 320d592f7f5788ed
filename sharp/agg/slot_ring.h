// SPDX-License-Identifier: Apache-2.0
// The slots of one class of a group: which chunk each slot waits for, and which children have
// delivered it.
//
// Chunk n goes into slot n mod W, and only when chunk n-W is done (a child proves that by holding
// its result). So every slot waits for exactly one chunk, and a delivery is right or wrong at
// sight. All children must say the same about a chunk. Thread rule: one thread; pure bookkeeping,
// no memory of payloads.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sharp/wire/chunk.h"

namespace sluice::sharp {

// Whether two headers are about the same chunk of the same operation.
bool same_chunk(const ChunkHeader& a, const ChunkHeader& b);
// "operation 3 of 400 bytes of float32 sum, 256 bytes at 0"
std::string describe(const ChunkHeader& header);

inline constexpr int kMostResends = 16;  // of one chunk or result, on one connection

class SlotRing {
 public:
  SlotRing(uint32_t window, uint16_t children);

  uint32_t window() const { return static_cast<uint32_t>(slots_.size()); }
  uint32_t slot_of(uint64_t sequence) const {
    return static_cast<uint32_t>(sequence % slots_.size());
  }

  // The chunk is the one that the slot waits for, and this child has not delivered it yet.
  bool is_due(uint16_t child, uint64_t sequence) const;
  // Only for what is due. False: another child has said something else about the chunk.
  bool arrive(uint16_t child, const ChunkHeader& header);
  bool complete(uint32_t slot) const { return slots_[slot].arrived == all_; }
  // The chunk in the slot is done with: the slot waits for the one W later.
  void release(uint32_t slot);
  // A damaged delivery. False: there were too many.
  bool may_resend(uint16_t child, uint32_t slot) {
    return ++resends_[slot * children_ + child] <= kMostResends;
  }

  struct Slot {
    uint64_t expected = 0;      // sequence
    uint64_t arrived = 0;       // sets of children: that have delivered,
    uint64_t no_result = 0;     // that want the record of the result only,
    uint64_t partial = 0;       // whose payload is partial sums,
    uint64_t claimed = 0;       // and that claim what it amounts to
    bool has_payload = false;   // somebody has sent one
    uint32_t payload_crc = 0;   // of the last payload that came
    uint16_t payload_from = 0;  // and its child
    uint16_t first_child = 0;
    ChunkHeader first;  // as the first child said it
  };
  const Slot& slot(uint32_t index) const { return slots_[index]; }
  uint32_t result_window(uint32_t slot, uint16_t child) const {
    return result_windows_[slot * children_ + child];
  }
  // What all children's claims amount to, in the order of the children. If all have made one.
  std::optional<Claim> claim(uint32_t slot) const;
  // Some but not all children have delivered a chunk, or one is complete and waits.
  bool has_partial() const { return partial_ > 0; }
  // The child that first delivered a chunk of the operation which is still waiting here, or
  // kNoMember.
  uint16_t waiting_child(uint64_t operation) const;

 private:
  uint16_t children_;
  uint64_t all_;
  uint32_t partial_ = 0;
  std::vector<Slot> slots_;
  std::vector<uint32_t> result_windows_;  // slot by slot, child by child
  std::vector<uint8_t> resends_;
  std::vector<Claim> claims_;  // slot by slot, child by child; empty until the first one comes
};

}  // namespace sluice::sharp
