// SPDX-License-Identifier: Apache-2.0
// Local kernels: two-operand reduction, test data, its check, and a hash; one set per instruction
// set.
//
// kernels_impl.h is compiled once for the baseline and, on x86-64, once for AVX2; kernels() picks
// at run time. Types and operators are NCCL's values as indices. Thread rule: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>

#include "plugin/abi/nccl_types.h"

namespace sluice::perf {

inline constexpr int kTypeCount = ncclFloat8e5m2 + 1;
inline constexpr int kOperatorCount = 4;
inline constexpr int kMostRanks = 64;

// out = a op b; `out` may be a or b. 16- and 8-bit floats go through fp32 and are rounded to
// nearest even.
using ReduceKernel = void (*)(void* out, const void* a, const void* b, size_t count);
// Writes the elements [first, first + count) of the rank with this multiplier; `first` wraps at
// 2^32.
using FillKernel = void (*)(void* out, uint32_t seed, uint32_t multiplier, uint32_t first,
                            size_t count);
// Counts elements that differ from the reduction over all multipliers by more than `bound`
// (relative to the sum of absolute values, or to the product; 0 for exact).
using CheckKernel = size_t (*)(const void* result, uint32_t seed, const uint32_t* multipliers,
                               int ranks, uint32_t first, size_t count, double bound);

struct KernelSet {
  const char* name;
  ReduceKernel reduce[kTypeCount][kOperatorCount];
  FillKernel fill[kTypeCount][kOperatorCount];
  CheckKernel check[kTypeCount][kOperatorCount];
  uint64_t (*hash)(const void* data, size_t bytes);
};

const KernelSet& baseline_kernels();
#ifdef SLUICE_PERF_AVX2
const KernelSet& avx2_kernels();
#endif
const KernelSet& kernels();  // the best that this processor runs

}  // namespace sluice::perf
