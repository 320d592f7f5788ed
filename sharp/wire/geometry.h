// SPDX-License-Identifier: Apache-2.0
// How an operation is cut into chunks: pure arithmetic, 64 bits everywhere. Sizes are bytes of
// elements.
#pragma once

#include <cstdint>

#include "sharp/wire/chunk.h"
#include "sharp/wire/membership.h"

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

// Whether the chunks of such an operation travel as fp32 partial sums between nodes.
inline bool travels_as_partial(const GroupShape& shape, DataType type,
                               ReduceOperator reduce_operator, Collective collective) {
  const bool reduces = collective == Collective::allreduce || collective == Collective::scatter;
  const bool accumulates =
      reduce_operator == ReduceOperator::sum || reduce_operator == ReduceOperator::product;
  return shape.precision == Precision::exact && reduces && accumulates && travels_as_partial(type);
}

// What of `slot` bytes a chunk may fill: partial sums must fit the slots as well.
inline uint32_t elements_that_fit(uint32_t slot, bool partial, DataType type) {
  return partial
             ? slot / static_cast<uint32_t>(sizeof(float)) * static_cast<uint32_t>(size_of(type))
             : slot;
}

// The largest chunk of the streaming class,
inline uint32_t chunk_limit(const GroupShape& shape, DataType type, ReduceOperator reduce_operator,
                            Collective collective) {
  return elements_that_fit(shape.chunk_bytes,
                           travels_as_partial(shape, type, reduce_operator, collective), type);
}

// and the largest operation of the latency class.
inline uint32_t latency_limit(const GroupShape& shape, DataType type,
                              ReduceOperator reduce_operator, Collective collective) {
  return elements_that_fit(shape.latency_bytes,
                           travels_as_partial(shape, type, reduce_operator, collective), type);
}

}  // namespace sluice::sharp
