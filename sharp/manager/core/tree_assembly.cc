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
  for (const uint32_t parent : parents_) placed_[parent].takes_ranks = true;
  bool good = true;
  for (const Placed& placed : placed_) {
    if (placed.children == 0) continue;
    const int roles =
        (placed.parent == kNobody ? kRootRole : 0) | (placed.takes_ranks ? kLeafRole : 0);
    const auto needed = static_cast<uint8_t>(roles == 0 ? int{kInnerRole} : roles);
    if (source_->fits(placed.node, placed.children, needed)) continue;
    taken_.push_back(placed.node);
    failed_near_ = placed.at;
    good = false;
  }
  return good;
}

// Lists of children are filled rank by rank: before a rank stand the nodes whose lowest it is. Then
// breadth first from the root: parents come before their children.
void TreePlanner::write(Tree& tree) {
  begins_.assign(placed_.size() + 1, 0);
  for (size_t node = 0; node < placed_.size(); ++node) {
    begins_[node + 1] = begins_[node] + placed_[node].children;
  }
  lists_.resize(begins_.back());
  place_of_.assign(begins_.begin(), begins_.end() - 1);  // where the next child goes
  for (uint32_t rank = 0; rank < parents_.size(); ++rank) {
    uint32_t node = parents_[rank];
    lists_[place_of_[node]++] = {TreeChild::Kind::rank, static_cast<uint16_t>(rank)};
    for (; placed_[node].first_rank == rank && placed_[node].parent != kNobody;
         node = placed_[node].parent) {
      lists_[place_of_[placed_[node].parent]++] = {TreeChild::Kind::node,
                                                   static_cast<uint16_t>(node)};
    }
  }
  uint32_t root = 0;
  while (placed_[root].parent != kNobody || placed_[root].children == 0) ++root;
  tree.nodes.clear();
  tree.children.clear();
  tree.leaf_of_rank.resize(parents_.size());
  order_.assign(1, root);
  tree.nodes.push_back({placed_[root].node});
  for (uint32_t place = 0; place < order_.size(); ++place) {
    const uint32_t node = order_[place];
    tree.nodes[place].first_child = static_cast<uint32_t>(tree.children.size());
    tree.nodes[place].children = static_cast<uint16_t>(placed_[node].children);
    for (uint32_t at = begins_[node]; at < begins_[node + 1]; ++at) {
      TreeChild child = lists_[at];
      if (child.kind == TreeChild::Kind::rank) {
        tree.leaf_of_rank[child.index] = static_cast<uint16_t>(place);
      } else {
        order_.push_back(child.index);
        child.index = static_cast<uint16_t>(tree.nodes.size());
        tree.nodes.push_back({placed_[order_.back()].node, static_cast<uint16_t>(place)});
      }
      tree.children.push_back(child);
    }
  }
}

}  // namespace sluice::manager
