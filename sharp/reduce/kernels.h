// SPDX-License-Identifier: Apache-2.0
// The families of kernels behind reduce(), each in a file of its own, compiled once per instruction
// set.
#pragma once

#include <cstddef>

#include "sharp/wire/types.h"

namespace sluice::sharp {

void reduce_integers(DataType type, ReduceOperator reduce_operator, void* out,
                     const void* const* inputs, int input_count, size_t elements);
void reduce_floats(DataType type, ReduceOperator reduce_operator, void* out,
                   const void* const* inputs, int input_count, size_t elements);
void reduce_half_floats(DataType type, ReduceOperator reduce_operator, void* out,
                        const void* const* inputs, int input_count, size_t elements);

}  // namespace sluice::sharp
