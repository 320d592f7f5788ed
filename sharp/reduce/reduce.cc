// SPDX-License-Identifier: Apache-2.0
#include "sharp/reduce/reduce.h"

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "sharp/reduce/kernels.h"

namespace sluice::sharp {
namespace {

enum class Family { integer, plain_float, half_float, byte_float, none };

Family family_of(DataType type) {
  switch (type) {
    case DataType::int8:
    case DataType::uint8:
    case DataType::int32:
    case DataType::uint32:
    case DataType::int64:
    case DataType::uint64:
      return Family::integer;
    case DataType::float32:
    case DataType::float64:
      return Family::plain_float;
    case DataType::float16:
    case DataType::bfloat16:
      return Family::half_float;
    case DataType::float8_e4m3:
    case DataType::float8_e5m2:
      return Family::byte_float;
  }
  return Family::none;
}

bool is_extreme(ReduceOperator reduce_operator) {
  return reduce_operator == ReduceOperator::min || reduce_operator == ReduceOperator::max;
}

// An output as large as this is written around the caches, which saves reading its old bytes.
// Smaller ones stay in the second-level cache for whoever takes them next: from there up, writing
// around wins even when all of the output is read again at once (docs/numbers.md).
size_t least_bypassing() {
  static const long size = ::sysconf(_SC_LEVEL2_CACHE_SIZE);
  return size > 0 ? static_cast<size_t>(size) : SIZE_MAX;
}

}  // namespace

void run_kernel(const Reduction& reduction) {
  const Family family = family_of(reduction.type);
  if (family == Family::none) return;
  if (family == Family::integer) return reduce_integers(reduction);
  const bool elements =
      reduction.out_form == Form::element &&
      std::all_of(reduction.inputs.begin(), reduction.inputs.end(),
                  [](const ReduceInput& input) { return input.form == Form::element; });
  if (is_extreme(reduction.reduce_operator) && (family == Family::plain_float || elements)) {
    return reduce_extremes(reduction);
  }
  if (family == Family::plain_float) return reduce_floats(reduction);
  if (family == Family::half_float) return reduce_half_floats(reduction);
  reduce_byte_floats(reduction);
}

size_t size_of(DataType type, Form form) {
  const Family family = family_of(type);
  const bool widens = family == Family::half_float || family == Family::byte_float;
  return widens && form == Form::partial ? sizeof(float) : size_of(type);
}

bool can_reduce(DataType type, ReduceOperator reduce_operator) {
  return family_of(type) != Family::none && static_cast<int>(reduce_operator) < kReduceOperators;
}

void reduce(DataType type, ReduceOperator reduce_operator, void* out, Form out_form,
            std::span<const ReduceInput> inputs, size_t elements) {
  if (elements == 0) return;
  const size_t size = size_of(type, out_form);
  if (inputs.size() == 1 && size_of(type, inputs[0].form) == size) {
    if (out != inputs[0].data) std::memcpy(out, inputs[0].data, elements * size);
    return;
  }
  const bool in_place = std::any_of(inputs.begin(), inputs.end(),
                                    [out](const ReduceInput& input) { return input.data == out; });
  const bool bypass_cache = !in_place && elements * size >= least_bypassing();
  run_kernel({type, reduce_operator, out, out_form, inputs, elements, bypass_cache});
}

}  // namespace sluice::sharp
