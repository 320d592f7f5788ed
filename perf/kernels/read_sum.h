// SPDX-License-Identifier: Apache-2.0
// The yardstick of the reduction kernels: how fast this core can take bytes in at all.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sluice::perf {

// The sum of all 64-bit words of `count` neighbouring regions, modulo 2^64, with the widest vectors
// of the CPU. `bytes`, of one region, is a multiple of 4096.
// One region after the other:
uint64_t read_sum(const void* data, size_t bytes, size_t count);
// A little of each in turns, as a reduction does it:
uint64_t read_sum_in_turns(const void* data, size_t bytes, size_t count);

}  // namespace sluice::perf
