// SPDX-License-Identifier: Apache-2.0
// The families of kernels behind reduce(), each in a file of its own, compiled once per instruction
// set.
#pragma once

#include <cstddef>
#include <span>

#include "sharp/reduce/reduce.h"

namespace sluice::sharp {

// What reduce() was asked for.
struct Reduction {
  DataType type;
  ReduceOperator reduce_operator;
  void* out;
  Form out_form;
  std::span<const ReduceInput> inputs;
  size_t elements;
  bool bypass_cache;  // write the output around the cache; only if it is none of the inputs
};

// By the family that does it.
void run_kernel(const Reduction& reduction);

void reduce_integers(const Reduction& reduction);
// Sum and product of fp32 and fp64.
void reduce_floats(const Reduction& reduction);
// Sum and product of fp16 and bf16; all operators and forms.
void reduce_half_floats(const Reduction& reduction);
// The same of fp8.
void reduce_byte_floats(const Reduction& reduction);
// Min and max of all floats, as elements.
void reduce_extremes(const Reduction& reduction);

}  // namespace sluice::sharp
