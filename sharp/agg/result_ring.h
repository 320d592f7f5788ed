// SPDX-License-Identifier: Apache-2.0
// The W results of one class: what has been computed for which chunk, where it lies, and who still
// reads it. Result n is kept until chunk n+W is complete, because until then it may be asked for
// again. Thread rule: one thread; pure bookkeeping.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "sharp/wire/chunk.h"

namespace sluice::sharp {

struct ResultSlot {
  enum class State : uint8_t {
    empty,
    up,    // with the parent, whose result is awaited
    done,  // final: it goes, or went, to the children
  };
  State state = State::empty;
  ChunkHeader header;               // what the children said; the payload's are those of the state
  const std::byte* data = nullptr;  // of the payload to send; null: a record without payload
  uint64_t wants = 0;               // the children that get the payload
  bool awaits_payload = false;      // up: the parent will send one
  uint32_t outstanding = 0;         // writes from it that are not confirmed
  int resends = 0;                  // up: damaged results of the parent
};

class ResultRing {
 public:
  explicit ResultRing(uint32_t window) : slots_(window) {}

  ResultSlot& operator[](uint32_t slot) { return slots_[slot]; }
  // Nothing is on its way up or down.
  bool quiet() const {
    return std::all_of(slots_.begin(), slots_.end(), [](const ResultSlot& slot) {
      return slot.state != ResultSlot::State::up && slot.outstanding == 0;
    });
  }
  // The payloads have gone: nothing can be sent again.
  void forget() {
    for (ResultSlot& slot : slots_) slot = ResultSlot();
  }

 private:
  std::vector<ResultSlot> slots_;
};

}  // namespace sluice::sharp
