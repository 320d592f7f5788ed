// SPDX-License-Identifier: Apache-2.0
#include "sharp/reduce/reduce.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "sharp/reduce/kernels.h"
#include "sharp/reduce/scalar.h"

namespace sluice::sharp {
namespace {

enum class Family { integer, floating, half, quarter, none };

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
      return Family::quarter;
  }
  return Family::none;
}

}  // namespace

bool can_reduce(DataType type, ReduceOperator reduce_operator) {
  return family_of(type) != Family::none && static_cast<int>(reduce_operator) < kReduceOperators;
}

size_t size_of(DataType type, Form form) {
  const size_t element = size_of(type);
  const Family family = family_of(type);
  const bool widens = family == Family::half || family == Family::quarter;
  return widens && form == Form::partial ? sizeof(float) : element;
}

void reduce(DataType type, ReduceOperator reduce_operator, void* out, Form out_form,
            std::span<const ReduceInput> inputs, size_t elements) {
  const size_t size = size_of(type, out_form);
  const bool uniform = std::all_of(inputs.begin(), inputs.end(), [&](const ReduceInput& input) {
    return size_of(type, input.form) == size;
  });
  const bool partial = size != size_of(type);
  if (elements == 0) return;
  if (!uniform || (family_of(type) == Family::quarter && inputs.size() > 1 && !partial)) {
    return reduce_scalar(type, reduce_operator, out, out_form, inputs, elements);
  }
  std::vector<const void*> pointers;
  for (const ReduceInput& input : inputs) pointers.push_back(input.data);
  reduce(partial ? DataType::float32 : type, reduce_operator, out, pointers.data(),
         static_cast<int>(pointers.size()), elements);
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
    case Family::quarter: {
      std::vector<ReduceInput> all;
      for (int at = 0; at < input_count; ++at) all.push_back({inputs[at], Form::element});
      return reduce_scalar(type, reduce_operator, out, Form::element, all, elements);
    }
    case Family::none:
      return;
  }
}

}  // namespace sluice::sharp
