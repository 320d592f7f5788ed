// SPDX-License-Identifier: Apache-2.0
// A tree of aggregation nodes for one group: who is below whom. Pure data.
//
// The children of a node are either its nodes or its ranks, or both: nodes and ranks in the order
// of the lowest rank below them. That order is the order of the reduction, so the bits of a result
// are a function of the tree's shape, not of the nodes' addresses.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "sharp/wire/membership.h"

namespace sluice::sharp {

inline constexpr uint16_t kNoParent = 0xffff;

struct TreeNode {
  std::string address;          // "10.0.0.1:7654"
  uint16_t parent = kNoParent;  // index into Tree::nodes; the root has none
};

struct Tree {
  std::vector<TreeNode> nodes;
  std::vector<uint16_t> leaf_of_rank;  // index into nodes, for each rank

  // One root, no cycle, every node has something below it, fan-in and depth within their limits:
  // a sentence if not.
  Status check() const;
  // The way from rank's leaf to the root, with child numbers as said above. For checked trees.
  Path path_of(uint16_t rank) const;
  // "10.0.0.9:7654(10.0.0.1:7654 0-3, 10.0.0.2:7654 4-7)": for logs; the bracketing of a result.
  std::string text() const;
  // Same shape, so the same bits: parents and leaves equal whatever the addresses are.
  bool same_shape(const Tree& other) const;
};

}  // namespace sluice::sharp
