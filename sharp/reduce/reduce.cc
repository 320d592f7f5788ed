// SPDX-License-Identifier: Apache-2.0
#include "sharp/reduce/reduce.h"

#include <cstring>

#include "sharp/reduce/kernels.h"

namespace sluice::sharp {
namespace {

enum class Family { integer, floating, half, none };

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
      return Family::floating;
    case DataType::float16:
    case DataType::bfloat16:
      return Family::half;
    case DataType::float8_e4m3:
    case DataType::float8_e5m2:
      break;
  }
  return Family::none;
}

}  // namespace

bool can_reduce(DataType type, ReduceOperator reduce_operator) {
  return family_of(type) != Family::none && static_cast<int>(reduce_operator) < kReduceOperators;
}

void reduce(DataType type, ReduceOperator reduce_operator, void* out, const void* const* inputs,
            int input_count, size_t elements) {
  if (elements == 0) return;
  if (input_count == 1) {
    if (out != inputs[0]) std::memcpy(out, inputs[0], elements * size_of(type));
    return;
  }
  switch (family_of(type)) {
    case Family::integer:
      return reduce_integers(type, reduce_operator, out, inputs, input_count, elements);
    case Family::floating:
      return reduce_floats(type, reduce_operator, out, inputs, input_count, elements);
    case Family::half:
      return reduce_half_floats(type, reduce_operator, out, inputs, input_count, elements);
    case Family::none:
      return;
  }
}

}  // namespace sluice::sharp
