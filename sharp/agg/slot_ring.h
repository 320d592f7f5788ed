// SPDX-License-Identifier: Apache-2.0
// The slots of one class of a group: which chunk each slot waits for, and who has delivered it.
//
// Chunk n goes into slot n mod W, and only when chunk n-W is done (a rank proves that by holding
// its result). So every slot waits for exactly one chunk, and a delivery is right or wrong at
// sight. All members must say the same about a chunk: operation, type, operator, size, place.
// Thread rule: one thread; pure bookkeeping, no memory of payloads.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "sharp/wire/chunk.h"

namespace sluice::sharp {

class SlotRing {
 public:
  SlotRing(uint32_t window, uint16_t members);

  uint32_t window() const { return static_cast<uint32_t>(slots_.size()); }
  uint32_t slot_of(uint64_t sequence) const {
    return static_cast<uint32_t>(sequence % slots_.size());
  }

  // Notes a delivery. True: it was the last one. Errors are sentences about ranks and values.
  Result<bool> arrive(uint16_t member, const ChunkHeader& header);
  // The chunk in the slot is reduced: the slot waits for the one W later.
  void release(uint32_t slot);

  const ChunkHeader& header(uint32_t slot) const { return slots_[slot].first; }
  uint32_t result_window(uint32_t slot, uint16_t member) const {
    return result_windows_[slot * members_ + member];
  }
  // Some but not all members have delivered a chunk.
  bool has_partial() const { return partial_ > 0; }
  // The member that first delivered a chunk of the operation which is still waiting here, or
  // kNoMember.
  uint16_t waiting_member(uint64_t operation) const;

 private:
  struct Slot {
    uint64_t expected = 0;  // sequence
    uint64_t arrived = 0;   // set of members
    uint16_t first_member = 0;
    ChunkHeader first;
  };

  uint16_t members_;
  uint64_t all_;
  uint32_t partial_ = 0;
  std::vector<Slot> slots_;
  std::vector<uint32_t> result_windows_;  // slot by slot, member by member
};

}  // namespace sluice::sharp
