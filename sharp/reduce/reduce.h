// SPDX-License-Identifier: Apache-2.0
// The reduction kernels: k inputs to one output in one pass over memory, vectorised with run-time
// dispatch. docs/numbers.md is their contract.
//
// Elements are combined in the order of the inputs, left to right, so the result is a function of
// the inputs alone. Integers wrap. fp16, bf16 and fp8 are accumulated in fp32 over all inputs and
// rounded once, to nearest even. Sums and products are IEEE: -0, infinities and subnormals as the
// standard has them. min and max are what NCCL's device code computes (fminf/fmaxf of PTX): if one
// operand is NaN the other is returned, and -0 is less than +0; of two NaNs the result is a NaN.
// fp8 saturates: what is too large becomes the largest finite value, as CUDA's constructors of
// these types do it.
// Thread rule: any thread; no state.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "sharp/wire/types.h"

namespace sluice::sharp {

// How the values of an input or of the output lie in memory. `partial` is fp32 for fp16, bf16 and
// fp8: what travels between nodes in exact mode. For all other types it is the same as `element`.
enum class Form : uint8_t { element, partial };

// Bytes of one value.
size_t size_of(DataType type, Form form);

struct ReduceInput {
  const void* data;
  Form form;
};

bool can_reduce(DataType type, ReduceOperator reduce_operator);

// At least one input; their forms may differ. `out` may be an input whose values are as large as
// the output's; otherwise nothing overlaps. No alignment is needed. Only for what can_reduce()
// allows.
void reduce(DataType type, ReduceOperator reduce_operator, void* out, Form out_form,
            std::span<const ReduceInput> inputs, size_t elements);

}  // namespace sluice::sharp
