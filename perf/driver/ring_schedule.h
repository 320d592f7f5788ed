// SPDX-License-Identifier: Apache-2.0
// RingSchedule: the steps of one rank in a ring, in NCCL's order.
//
// The data goes in loops of one chunk per rank. In a loop of a reduce-scatter a rank sends the
// chunk before its own, then n - 2 times receives, reduces and passes on, then completes its own
// chunk. In an allgather it sends its own chunk, then n - 2 times receives a chunk, stores and
// passes it on, then receives the last. An allreduce is both, the completed chunk being passed on.
// Its chunks lie side by side in a loop; those of the other two each in its rank's block.
// Every one of these is cut into slices, the unit of a message, so that hops overlap. Thread rule:
// immutable value.
#pragma once

#include <cstddef>
#include <vector>

#include "perf/driver/algorithm.h"

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
  Collective collective = Collective::allreduce;
  int ranks = 2;
  int rank = 0;
  size_t count = 0;        // elements of the whole vector
  size_t most_slice = 1;   // elements of a full slice
  size_t least_slice = 1;  // smaller chunks are not cut further
  size_t slices_per_chunk = 4;

  bool operator==(const RingShape&) const = default;
};

// Empty slices are left out, by sender and receiver alike.
std::vector<RingStep> ring_steps(const RingShape& shape);

}  // namespace sluice::perf
