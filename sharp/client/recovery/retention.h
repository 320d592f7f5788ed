// SPDX-License-Identifier: Apache-2.0
// What a rank keeps of one class beside the callers' buffers, so that a group can finish when its
// tree dies: copies of the inputs that a half-written result would destroy (in place), and, of
// operations that are over, the last W results, or the inputs of scatters.
//
// Places are rings of W: an input is replaced when c+W is sent, which this rank does only once it
// holds c; what is kept of a finished operation when that of c+W is over, which proves that all
// ranks hold c. Memory is taken when first used: at most 2 W chunks. Thread rule: its owner's.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sharp/wire/chunk.h"

namespace sluice::sharp {

class Retention {
 public:
  explicit Retention(uint32_t window) : inputs_(window), finished_(window) {}

  // Copies the input of an in-place chunk, as it is sent.
  void keep_input(uint64_t sequence, std::span<const std::byte> data) {
    Place& place = inputs_[sequence % inputs_.size()];
    place.sequence = sequence;
    place.taken = true;
    place.data.assign(data.begin(), data.end());
  }
  // Empty: not kept.
  std::span<const std::byte> input(uint64_t sequence) const {
    const Place& place = inputs_[sequence % inputs_.size()];
    if (!place.taken || place.sequence != sequence) return {};
    return place.data;
  }

  // When the operation of the chunk is over: where its `header.bytes` bytes are to be copied to,
  // result or input as Ledger::keeps_result() says. The header is kept with them; what an epoch
  // decides (sequence, epoch, child, flags, payload) is not looked at again.
  std::span<std::byte> keep(uint64_t sequence, const ChunkHeader& header) {
    Place& place = finished_[sequence % finished_.size()];
    place.sequence = sequence;
    place.taken = true;
    place.header = header;
    place.data.resize(header.bytes);
    return place.data;
  }
  struct Kept {
    const ChunkHeader* header = nullptr;  // null: not kept
    std::span<const std::byte> data;
  };
  Kept find(uint64_t sequence) const {
    const Place& place = finished_[sequence % finished_.size()];
    if (!place.taken || place.sequence != sequence) return {};
    return {&place.header, place.data};
  }

 private:
  struct Place {
    uint64_t sequence = 0;
    bool taken = false;
    ChunkHeader header;
    std::vector<std::byte> data;
  };
  std::vector<Place> inputs_;
  std::vector<Place> finished_;
};

}  // namespace sluice::sharp
