// SPDX-License-Identifier: Apache-2.0
// One element after the other, for what the vector kernels do not take.
#pragma once

#include <span>

#include "sharp/reduce/reduce.h"

namespace sluice::sharp {

// fp16, bf16 and fp8.
void reduce_scalar(DataType type, ReduceOperator reduce_operator, void* out, Form out_form,
                   std::span<const ReduceInput> inputs, size_t elements);

}  // namespace sluice::sharp
