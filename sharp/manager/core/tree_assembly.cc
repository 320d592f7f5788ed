// SPDX-License-Identifier: Apache-2.0
// TreePlanner's second half: placed nodes become a tree that keeps the fan-in and the order.
#include <algorithm>

#include "sharp/manager/core/fabric_description.h"
#include "sharp/manager/core/tree_planner.h"

namespace sluice::manager {

unsigned Tree::depth() const {
  unsigned deepest = 0;
  for (size_t node = 0; node < nodes.size(); ++node) {
    unsigned depth = 1;
    for (size_t at = node; nodes[at].parent != TreeNode::kNoParent; at = nodes[at].parent) ++depth;
    deepest = std::max(deepest, depth);
  }
  return deepest;
}

void TreePlanner::count_children() {
  for (const uint32_t parent : parents_) ++placed_[parent].children;
  for (Placed& placed : placed_) placed.takes_ranks = placed.children != 0;
  for (size_t node = 1; node < placed_.size(); ++node) ++placed_[placed_[node].parent].children;
}

// A node with one child passes everything through: its child goes to its parent instead. This
// happens where a site has lost items to a worthier one. The only member keeps its only node.
void TreePlanner::leave_out(uint32_t node) {
  const uint32_t parent = placed_[node].parent;
  const auto child = std::find_if(placed_.begin(), placed_.end(), [&](const Placed& other) {
    return other.children != 0 && other.parent == node;
  });
  if (child != placed_.end()) {
    child->parent = parent;
  } else if (parent == kNobody) {
    return;
  } else {
    std::replace(parents_.begin(), parents_.end(), node, parent);
    placed_[parent].takes_ranks = true;
  }
  placed_[node].children = 0;
}

// Further nodes near `parent` take runs of its children, in their order; as few nodes as bring it
// down to its fan-in.
PlanFailure TreePlanner::split(uint32_t parent, unsigned fan_in) {
  struct Child {
    uint32_t first_rank = 0;
    bool is_node = false;
    uint32_t index = 0;
  };
  std::vector<Child> children;
  for (uint32_t rank = 0; rank < parents_.size(); ++rank) {
    if (parents_[rank] == parent) children.push_back({rank, false, rank});
  }
  for (uint32_t node = 0; node < placed_.size(); ++node) {
    if (placed_[node].parent != parent || placed_[node].children == 0) continue;
    children.push_back({placed_[node].first_rank, true, node});
  }
  std::sort(children.begin(), children.end(),
            [](const Child& a, const Child& b) { return a.first_rank < b.first_rank; });
  const auto count = static_cast<uint32_t>(children.size());
  const uint32_t helpers = std::min((count - fan_in + fan_in - 2) / (fan_in - 1), count / fan_in);
  const uint32_t to_absorb = std::min(count - fan_in, helpers * (fan_in - 1));
  failed_near_ = placed_[parent].at;
  size_t next = 0;
  for (uint32_t helper = 0; helper < helpers; ++helper) {
    const uint32_t run = 1 + to_absorb * (helper + 1) / helpers - to_absorb * helper / helpers;
    const bool ranks = std::any_of(children.begin() + static_cast<ptrdiff_t>(next),
                                   children.begin() + static_cast<ptrdiff_t>(next + run),
                                   [](const Child& child) { return !child.is_node; });
    NodeId node;
    SwitchId at;
    for (const SwitchId site : routes_->near(failed_near_)) {
      at = site;
      node = source_->choose(site, run, ranks ? kLeafRole : kInnerRole, taken_);
      if (node.valid() && source_->fan_in(node) >= run) break;
      node = {};
    }
    if (!node.valid()) return PlanFailure::too_many;
    const uint32_t placed = add_node(node, at, parent, children[next].first_rank);
    placed_[placed].children = run;
    placed_[placed].takes_ranks = ranks;
    placed_[parent].children -= run - 1;
    for (const size_t end = next + run; next < end; ++next) {
      const Child& child = children[next];
      (child.is_node ? placed_[child.index].parent : parents_[child.index]) = placed;
    }
  }
  return PlanFailure::none;
}

// Children and roles are known now. What does not fit is left out of the next attempt.
bool TreePlanner::verify() {
  bool good = true;
  for (const Placed& placed : placed_) {
    if (placed.children == 0) continue;
    const int roles =
        (placed.parent == kNobody ? kRootRole : 0) | (placed.takes_ranks ? kLeafRole : 0);
    const auto needed = static_cast<uint8_t>(roles == 0 ? int{kInnerRole} : roles);
    if (source_->fits(placed.node, placed.children, needed)) continue;
    taken_.push_back(placed.node);
    failed_near_ = placed.at;
    failed_children_ = placed.children;
    good = false;
  }
  return good;
}

// Nodes breadth first from the root, so that parents come before their children; then children rank
// by rank: before a rank stand the nodes whose lowest it is.
void TreePlanner::write(Tree& tree) {
  order_nodes();
  tree.nodes.resize(order_.size());
  uint32_t children = 0;
  for (size_t place = 0; place < order_.size(); ++place) {
    const Placed& placed = placed_[order_[place]];
    const bool root = placed.parent == kNobody;
    tree.nodes[place] = {
        placed.node, root ? TreeNode::kNoParent : static_cast<uint16_t>(place_of_[placed.parent]),
        static_cast<uint16_t>(placed.children), children};
    next_child_[order_[place]] = children;
    children += placed.children;
  }
  tree.children.resize(children);
  tree.leaf_of_rank.resize(parents_.size());
  for (uint32_t rank = 0; rank < parents_.size(); ++rank) {
    uint32_t node = parents_[rank];
    tree.leaf_of_rank[rank] = static_cast<uint16_t>(place_of_[node]);
    tree.children[next_child_[node]++] = {TreeChild::Kind::rank, static_cast<uint16_t>(rank)};
    for (; placed_[node].first_rank == rank && placed_[node].parent != kNobody;
         node = placed_[node].parent) {
      tree.children[next_child_[placed_[node].parent]++] = {TreeChild::Kind::node,
                                                            static_cast<uint16_t>(place_of_[node])};
    }
  }
}

// Level by level, each in the order of the lowest rank.
void TreePlanner::order_nodes() {
  order_.clear();
  place_of_.resize(placed_.size());
  next_child_.resize(placed_.size());
  for (uint32_t node = 0; node < placed_.size(); ++node) {
    if (placed_[node].parent == kNobody && placed_[node].children != 0) order_.push_back(node);
  }
  for (size_t above = 0; above < order_.size(); ++above) {
    place_of_[order_[above]] = static_cast<uint32_t>(above);
    const size_t level = order_.size();
    for (uint32_t node = 0; node < placed_.size(); ++node) {
      if (placed_[node].parent == order_[above] && placed_[node].children != 0) {
        order_.push_back(node);
      }
    }
    std::sort(
        order_.begin() + static_cast<ptrdiff_t>(level), order_.end(),
        [&](uint32_t a, uint32_t b) { return placed_[a].first_rank < placed_[b].first_rank; });
  }
}

}  // namespace sluice::manager
