// SPDX-License-Identifier: Apache-2.0
#include "sharp/agg/combine.h"

#include <array>
#include <cstring>

#include "sharp/reduce/reduce.h"

namespace sluice::sharp {
namespace {

Form form_of(const SlotRing::Slot& chunk, size_t child) {
  return (chunk.partial >> child & 1) != 0 ? Form::partial : Form::element;
}

uint32_t bytes_in(const ChunkHeader& header, Form form) {
  const size_t elements = header.bytes / size_of(header.type);
  return static_cast<uint32_t>(elements * size_of(header.type, form));
}

Combined copy(const SlotRing::Slot& chunk, std::span<const std::byte* const> slots,
              std::byte* out) {
  const Form form = form_of(chunk, chunk.payload_from);
  const uint32_t bytes = bytes_in(chunk.first, form);
  std::memcpy(out, slots[chunk.payload_from], bytes);
  return {bytes, form == Form::partial, false, chunk.payload_crc};
}

}  // namespace

bool passes_partials(Precision precision, const ChunkHeader& header) {
  const bool reduced =
      header.collective == Collective::allreduce || header.collective == Collective::scatter;
  const bool rounded = header.reduce_operator == ReduceOperator::sum ||
                       header.reduce_operator == ReduceOperator::product;
  return precision == Precision::exact && reduced && rounded && travels_as_partial(header.type);
}

uint32_t most_bytes(Precision precision, const ChunkHeader& header, uint32_t slot_bytes) {
  if (!passes_partials(precision, header)) return slot_bytes;
  return static_cast<uint32_t>(slot_bytes / sizeof(float) * size_of(header.type));
}

Combined combine(const SlotRing::Slot& chunk, std::span<const std::byte* const> slots,
                 bool to_partials, std::byte* out) {
  const ChunkHeader& header = chunk.first;
  if (!chunk.has_payload) return {};
  if (header.collective == Collective::gather) return copy(chunk, slots, out);
  const bool must_round = !to_partials && chunk.partial != 0;
  if (slots.size() == 1 && !must_round) return copy(chunk, slots, out);
  std::array<ReduceInput, kMaxFanIn> inputs;
  for (size_t child = 0; child < slots.size(); ++child) {
    inputs[child] = {slots[child], form_of(chunk, child)};
  }
  const Form form = to_partials ? Form::partial : Form::element;
  reduce(header.type, header.reduce_operator, out, form,
         std::span<const ReduceInput>(inputs.data(), slots.size()),
         header.bytes / size_of(header.type));
  return {bytes_in(header, form), to_partials, true, 0};
}

}  // namespace sluice::sharp
