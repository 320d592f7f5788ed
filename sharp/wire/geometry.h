// SPDX-License-Identifier: Apache-2.0
// How an operation is cut into chunks: pure arithmetic, 64 bits everywhere. Sizes are bytes.
#pragma once

#include <cstdint>

namespace sluice::sharp {

struct ChunkSpan {
  uint64_t offset = 0;
  uint32_t bytes = 0;
};

constexpr uint64_t chunks_of(uint64_t operation_bytes, uint32_t chunk_bytes) {
  return operation_bytes / chunk_bytes + (operation_bytes % chunk_bytes != 0 ? 1 : 0);
}

// Chunk `index` of an operation; the last one is what is left.
constexpr ChunkSpan chunk_at(uint64_t operation_bytes, uint32_t chunk_bytes, uint64_t index) {
  const uint64_t offset = index * chunk_bytes;
  const uint64_t left = operation_bytes - offset;
  return {offset, static_cast<uint32_t>(left < chunk_bytes ? left : chunk_bytes)};
}

}  // namespace sluice::sharp
