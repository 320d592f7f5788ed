// SPDX-License-Identifier: Apache-2.0
#include "sharp/client/recovery/substitute.h"

#include <algorithm>

namespace sluice::sharp {
namespace {

// The number of the node with this address; a new one is put below `parent`.
uint16_t number_of(Tree& tree, const std::string& address, uint16_t parent) {
  const auto nodes = static_cast<uint16_t>(tree.nodes.size());
  for (uint16_t number = 0; number < nodes; ++number) {
    if (tree.nodes[number].address == address) return number;
  }
  tree.nodes.push_back({address, parent});
  return static_cast<uint16_t>(tree.nodes.size() - 1);
}

bool is_below(const Tree& tree, uint16_t rank, uint16_t node) {
  for (uint16_t up = tree.leaf_of_rank[rank]; up != kNoParent; up = tree.nodes[up].parent) {
    if (up == node) return true;
  }
  return false;
}

}  // namespace

Tree brackets_of(const Tree& tree) {
  Tree brackets;
  for (uint32_t rank = 0; rank < tree.leaf_of_rank.size(); ++rank) {
    const Path path = tree.path_of(static_cast<uint16_t>(rank));
    uint16_t parent = kNoParent;
    for (size_t hop = path.size(); hop > 0; --hop) {
      const bool only = hop == 1 && parent == kNoParent;
      if (path[hop - 1].children > 1 || only) {
        parent = number_of(brackets, path[hop - 1].node, parent);
      }
    }
    brackets.leaf_of_rank.push_back(parent);
  }
  return brackets;
}

Substitute substitute_for(const Tree& tree) {
  Substitute substitute{brackets_of(tree), {}};
  const size_t nodes = substitute.tree.nodes.size();
  const auto ranks = static_cast<uint16_t>(tree.leaf_of_rank.size());
  substitute.hosts.assign(nodes, kNoMember);
  std::vector<bool> hosts(ranks, false);
  // A node's number is higher than its parent's.
  for (size_t node = nodes; node > 0; --node) {
    for (uint16_t rank = 0; rank < ranks; ++rank) {
      if (hosts[rank] || !is_below(substitute.tree, rank, static_cast<uint16_t>(node - 1)))
        continue;
      hosts[rank] = true;
      substitute.hosts[node - 1] = rank;
      break;
    }
  }
  return substitute;
}

}  // namespace sluice::sharp
