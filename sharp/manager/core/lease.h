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
  uint32_t place = 0;  // among the node's holders
  Amounts amounts;
};

struct Lease {
  LeaseId id;
  Request request;            // as it was asked for; `avoid` as of the last re-forming
  uint32_t epoch = 0;         // changes with every re-forming
  uint64_t window_bytes = 0;  // granted: bytes in flight of a rank, a multiple of the chunk
  // One per rail, if has_trees(). If not, the group has lost them (preempted, or not re-formed yet)
  // and runs in fallback. Of an adopted lease only holdings are known.
  std::vector<Tree> trees;
  std::vector<Holding> holdings;
  bool active = false;   // false: an empty slot of the table
  bool adopted = false;  // known from nodes' reports only: trees are not known
  TimePoint expires{};
  uint32_t older = 0, newer = 0;  // neighbours in the order of renewal

  bool has_trees() const { return !holdings.empty(); }
  uint32_t window_chunks() const {
    return static_cast<uint32_t>(window_bytes / request.chunk_bytes);
  }
};

}  // namespace sluice::manager
