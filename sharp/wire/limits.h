// SPDX-License-Identifier: Apache-2.0
// Bounds that both ends of the protocol hold each other to. Sizes are bytes.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sluice::sharp {

inline constexpr uint32_t kChunkAlignment = 64;  // a chunk never cuts an element or a cache line
inline constexpr uint32_t kMinChunkBytes = 256;
inline constexpr uint32_t kMaxChunkBytes = 16 << 20;
inline constexpr uint32_t kMaxChunkWindow = 1024;
inline constexpr uint32_t kMaxLatencyBytes = 4096;  // one message
inline constexpr uint32_t kLatencyWindow = 64;      // operations of the latency class in flight
inline constexpr uint32_t kMaxResultWindows =
    128;                                    // streaming operations that a rank has announced
inline constexpr uint32_t kSlotWindow = 0;  // the node's only window: its slots, side by side

}  // namespace sluice::sharp
