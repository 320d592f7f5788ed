// SPDX-License-Identifier: Apache-2.0
// One posted operation: what is to be done, where its bytes are, and how far it is. A slot in its
// client; sizes are bytes.
//
// Whatever was asked for is one of three by now: an allreduce, a gather or a scatter over one
// contiguous input and one contiguous output. Small allgathers and reduce-scatters are allreduces
// over scratch memory; scattered buffers are staged through it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "sharp/client/client.h"
#include "sharp/client/cutting.h"
#include "sharp/wire/chunk.h"

namespace sluice::sharp {

class GroupClient;

struct Operation {
  GroupClient* client = nullptr;
  uint32_t index = 0;  // in its client; also the number of its result window
  bool in_use = false;

  Collective collective = Collective::allreduce;
  DataType type = DataType::int8;
  ReduceOperator reduce_operator = ReduceOperator::sum;
  TrafficClass traffic_class = TrafficClass::latency;
  uint64_t number = 0;        // in the group
  uint64_t window_bytes = 0;  // the whole operation; of an allreduce, its vector
  uint64_t result_bytes = 0;  // what the caller is told
  Cutting cutting;

  // Input: bytes [input_at, ...) of the window; output: [output.offset, + output.bytes) of it.
  const std::byte* input = nullptr;
  uint64_t input_at = 0;
  const transport::MemoryRegion* input_region = nullptr;
  std::byte* output = nullptr;
  WindowRange output_range;
  const transport::MemoryRegion* output_region = nullptr;

  // Staging: `scratch` stands for the input or the output or both. When all results have come, what
  // of it is the caller's goes to the parts, one after the other.
  std::vector<std::byte> scratch;
  uint64_t deliver_at = 0;  // in the scratch
  std::vector<Part> deliver_to;

  uint64_t first_sequence = 0;  // of its chunks in its class: they follow each other
  uint64_t arrived = 0;         // chunks whose result is in place
  uint64_t unconfirmed = 0;     // writes whose memory the transport still reads
  bool announced = false;       // its output, on the link of this epoch

  bool done() const { return arrived == cutting.chunks() && unconfirmed == 0; }
  const std::byte* input_of(uint64_t offset) const { return input + (offset - input_at); }
  std::byte* output_of(uint64_t offset) const { return output + (offset - output_range.offset); }
  bool receives(uint64_t offset) const {
    return offset >= output_range.offset && offset - output_range.offset < output_range.bytes;
  }
  // A result that is half written here has destroyed this input.
  bool overwrites(const std::byte* data, uint64_t bytes) const {
    const auto from = reinterpret_cast<uintptr_t>(data);
    const auto to = reinterpret_cast<uintptr_t>(output);
    return from < to + output_range.bytes && to < from + bytes;
  }
};

}  // namespace sluice::sharp
