// SPDX-License-Identifier: Apache-2.0
// RingSchedule: the steps of one rank in a ring allreduce, in NCCL's order.
//
// The data goes in loops of one chunk per rank. In a loop a rank sends the chunk before its own,
// then n - 2 times receives, reduces and passes on, then completes its own chunk and passes it on,
// then n - 2 times receives a complete chunk, stores and passes it on, then receives the last.
// Every one of these is cut into slices, the unit of a message, so that hops overlap. Thread rule:
// immutable value.
#pragma once

#include <cstddef>
#include <vector>

namespace sluice::perf {

struct RingStep {
  bool receives = false;
  bool reduces = false;  // the own input with what was received
  bool stores = false;   // the outcome is final: it goes to the output
  bool sends = false;
  size_t first = 0;  // elements
  size_t count = 0;
};

struct RingShape {
  int ranks = 2;
  int rank = 0;
  size_t count = 0;        // elements
  size_t most_slice = 1;   // elements of a full slice
  size_t least_slice = 1;  // smaller chunks are not cut further
  size_t slices_per_chunk = 4;
};

// Empty slices are left out, by sender and receiver alike.
std::vector<RingStep> ring_steps(const RingShape& shape);

}  // namespace sluice::perf
