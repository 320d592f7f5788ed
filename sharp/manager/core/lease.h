// SPDX-License-Identifier: Apache-2.0
// A lease: what one group of one job holds, and until when.
//
// Owned by Admission; a pointer to one is good until the next call that changes anything.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/clock.h"
#include "sharp/manager/core/decision.h"
#include "sharp/manager/core/tree.h"

namespace sluice::manager {

// A group's share of one node.
struct Holding {
  NodeId node;
  uint32_t share = 0;  // its number in the ledger
  Amounts amounts;
};

struct Lease {
  LeaseId id;
  bool active = false;        // false: an empty slot of the table
  bool adopted = false;       // known from nodes' reports only: members and trees are not known
  uint32_t epoch = 0;         // changes with every re-forming
  uint64_t window_bytes = 0;  // granted: bytes in flight of a rank, a multiple of the chunk
  // One per node of the trees, in their order. Empty: the group has lost its trees (preempted, or
  // not re-formed yet) and runs in fallback.
  std::vector<Holding> holdings;
  Request request;          // as it was asked for; `avoid` as of the last re-forming
  std::vector<Tree> trees;  // one per rail, if has_trees() and not adopted
  TimePoint expires{};

  bool has_trees() const { return !holdings.empty(); }
  uint32_t window_chunks() const {
    return static_cast<uint32_t>(window_bytes / request.chunk_bytes);
  }
};

}  // namespace sluice::manager
