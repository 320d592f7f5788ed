// SPDX-License-Identifier: Apache-2.0
// Where a group's chunks lie in its memory: pure arithmetic. Sizes are bytes.
//
// Each class has its own region of (children + 2) x W slots: a row of W for each child, W for what
// goes up (at the root: the results), W for what comes down from the parent (not at the root).
#pragma once

#include <cstddef>
#include <cstdint>

#include "sharp/wire/chunk.h"
#include "sharp/wire/membership.h"

namespace sluice::sharp {

class SlotLayout {
 public:
  SlotLayout(const GroupShape& shape, uint16_t children, bool has_parent)
      : slot_bytes_{shape.latency_bytes, shape.chunk_bytes},
        window_{shape.latency_window, shape.window},
        children_(children),
        has_parent_(has_parent) {}

  uint64_t bytes() const { return region(TrafficClass::streaming) + region(TrafficClass::latency); }
  uint32_t slot_bytes(TrafficClass traffic_class) const {
    return slot_bytes_[static_cast<size_t>(traffic_class)];
  }
  uint32_t window(TrafficClass traffic_class) const {
    return window_[static_cast<size_t>(traffic_class)];
  }
  // Of a row of slots.
  uint64_t row(TrafficClass traffic_class) const {
    return uint64_t{window(traffic_class)} * slot_bytes(traffic_class);
  }

  uint64_t child_slot(TrafficClass traffic_class, uint16_t child, uint32_t slot) const {
    return at(traffic_class, child, slot);
  }
  uint64_t up_slot(TrafficClass traffic_class, uint32_t slot) const {
    return at(traffic_class, children_, slot);
  }
  uint64_t down_slot(TrafficClass traffic_class, uint32_t slot) const {
    return at(traffic_class, uint32_t{children_} + 1, slot);
  }

 private:
  uint64_t region(TrafficClass traffic_class) const {
    return (uint64_t{children_} + (has_parent_ ? 2 : 1)) * row(traffic_class);
  }
  // Streaming comes first: its slots keep the alignment of the mapping.
  uint64_t at(TrafficClass traffic_class, uint32_t row_number, uint32_t slot) const {
    const uint64_t base =
        traffic_class == TrafficClass::streaming ? 0 : region(TrafficClass::streaming);
    return base + row_number * row(traffic_class) + uint64_t{slot} * slot_bytes(traffic_class);
  }

  uint32_t slot_bytes_[kTrafficClasses];  // by class
  uint32_t window_[kTrafficClasses];
  uint16_t children_;
  bool has_parent_;
};

}  // namespace sluice::sharp
