// SPDX-License-Identifier: Apache-2.0
// The tree among the ranks themselves that takes the place of one that died. Pure.
//
// It has the brackets of the lost one, so it gives the same bits. Nodes with a single child, which
// reduce nothing, are left out; then every node has two children or more, and there are ranks
// enough that each hosts at most one node: the lowest rank below it that hosts none yet, from the
// leaves up.
#pragma once

#include <cstdint>
#include <vector>

#include "sharp/client/tree.h"

namespace sluice::sharp {

// The tree without its nodes of one child (a root that is the only node stays), nodes in an order
// that follows from the shape: two trees give the same bits if what this makes of them has the same
// shape.
Tree brackets_of(const Tree& tree);

struct Substitute {
  Tree tree;                    // addresses are those of the lost nodes until the hosts have opened
  std::vector<uint16_t> hosts;  // the rank that hosts nodes[i]
};
Substitute substitute_for(const Tree& tree);

}  // namespace sluice::sharp
