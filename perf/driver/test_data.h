// SPDX-License-Identifier: Apache-2.0
// Test data: every rank's input as a function of (rank, index, seed), and the check of a result
// against the reduction of all ranks' inputs, computed independently of any transport.
//
// Exact for integers (which wrap) and for min and max. For float sums and products of n ranks the
// result may differ by g times the sum of absolute inputs (sum) or the absolute product (prod):
//
//   g = (1 + u)^r (1 + v)^n - 1,  u the type's unit roundoff, v that of the accumulator
//
// 32- and 64-bit floats are rounded at each of the n - 1 steps, in any order (r = n, v = 0; fp64
// gets 2 g, since the reference is fp64 itself). 16- and 8-bit floats accumulate in fp32 (v =
// 2^-24) and are rounded r times: at every hop of a ring, a level or a node of a tree, or once in
// all (docs/numbers.md). Thread rule: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>

#include "plugin/abi/nccl_types.h"

namespace sluice::perf {

struct Pattern {
  ncclDataType_t type = ncclFloat32;
  ncclRedOp_t op = ncclSum;
  uint64_t seed = 0;  // the iteration
};

void fill(const Pattern& pattern, int rank, uint64_t first, size_t count, void* out);
// How many of the elements [first, first + count) of the reduction over `ranks` are out of bounds
// when 16- and 8-bit floats are rounded `roundings` times.
size_t count_wrong(const Pattern& pattern, int ranks, int roundings, uint64_t first, size_t count,
                   const void* result);
double error_bound(ncclDataType_t type, ncclRedOp_t op, int ranks, int roundings);
// How many of the elements [first, first + count) are not rank's input.
size_t count_different(const Pattern& pattern, int rank, uint64_t first, size_t count,
                       const void* result);

void reduce(ncclDataType_t type, ncclRedOp_t op, void* out, const void* a, const void* b,
            size_t count);
uint64_t hash_bytes(const void* data, size_t bytes);

}  // namespace sluice::perf
