// SPDX-License-Identifier: Apache-2.0
// What the chunks of all children amount to: the one place of a node where payloads are computed.
//
// In the order of the children, so that the bits are a function of the inputs and of the tree. A
// payload that is alone (one child, or the focus of a gather) is passed on as it is, bit by bit.
// Thread rule: any thread; no state.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "sharp/agg/slot_ring.h"
#include "sharp/wire/membership.h"

namespace sluice::sharp {

struct Combined {
  uint32_t bytes = 0;     // of the payload; 0: there is none
  bool partial = false;   // it holds fp32 partial sums
  bool computed = false;  // else it was copied, and its checksum is the sender's
  uint32_t crc = 0;
};

// Whether a node that has a parent passes this chunk up as partial sums.
bool passes_partials(Precision precision, const ChunkHeader& header);
// The most bytes of elements that a chunk may have where slots are of `slot_bytes`.
uint32_t most_bytes(Precision precision, const ChunkHeader& header, uint32_t slot_bytes);

// `slots`: the payload of each child. `out` has room for the payload. The checksum is not computed
// for what was computed.
Combined combine(const SlotRing::Slot& chunk, std::span<const std::byte* const> slots,
                 bool to_partials, std::byte* out);

}  // namespace sluice::sharp
