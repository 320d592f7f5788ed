// SPDX-License-Identifier: Apache-2.0
// A tree of aggregation nodes for the members of a group on one rail: plain data.
//
// Nodes stand parents first, the root at 0. A node's children are ranks and nodes, ordered by the
// lowest rank below each; this is the order of the reduction, so it is part of the numeric result.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sharp/manager/core/ids.h"

namespace sluice::manager {

struct TreeChild {
  enum class Kind : uint8_t { rank, node } kind = Kind::rank;
  uint16_t index = 0;  // the rank, or the place in Tree::nodes

  friend bool operator==(const TreeChild&, const TreeChild&) = default;
};

struct TreeNode {
  static constexpr uint16_t kNoParent = 0xffff;
  NodeId node;
  uint16_t parent = kNoParent;  // place in Tree::nodes
  uint16_t children = 0;
  uint32_t first_child = 0;  // place in Tree::children

  friend bool operator==(const TreeNode&, const TreeNode&) = default;
};

struct Tree {
  uint8_t rail = 0;
  std::vector<TreeNode> nodes;
  std::vector<TreeChild> children;
  std::vector<uint16_t> leaf_of_rank;  // rank -> place in nodes of the node that it joins

  std::span<const TreeChild> children_of(const TreeNode& node) const {
    return std::span(children).subspan(node.first_child, node.children);
  }
  unsigned depth() const;  // nodes on the longest way from a rank to the root
  void clear() {
    nodes.clear();
    children.clear();
    leaf_of_rank.clear();
  }
  friend bool operator==(const Tree&, const Tree&) = default;
};

}  // namespace sluice::manager
