// SPDX-License-Identifier: Apache-2.0
// The reduction kernels: k inputs to one output in one pass over memory, vectorised with run-time
// dispatch.
//
// Elements are combined in the order of the inputs, left to right, so the result is a function of
// the inputs alone. Integers wrap. fp16 and bf16 are accumulated in fp32 over all inputs and
// rounded once, to nearest even. Sums and products are IEEE: -0, infinities and subnormals as the
// standard has them. min and max are what NCCL's device code computes (fminf/fmaxf of PTX): if one
// operand is NaN the other is returned, and -0 is less than +0; of two NaNs the result is a NaN.
// Thread rule: any thread; no state.
#pragma once

#include <cstddef>

#include "sharp/wire/types.h"

namespace sluice::sharp {

bool can_reduce(DataType type, ReduceOperator reduce_operator);

// `out` may be any of the inputs; otherwise nothing overlaps. No alignment is needed. inputs >= 1.
// Only for what can_reduce() allows.
void reduce(DataType type, ReduceOperator reduce_operator, void* out, const void* const* inputs,
            int input_count, size_t elements);

}  // namespace sluice::sharp
