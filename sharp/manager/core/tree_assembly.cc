// SPDX-License-Identifier: Apache-2.0
// TreePlanner's second half: placed nodes become a tree that keeps the fan-in and the order.
#include <algorithm>

#include "sharp/manager/core/fabric_description.h"
#include "sharp/manager/core/tree_planner.h"

namespace sluice::manager {

unsigned Tree::depth() const {
  unsigned deepest = 0;
  for (const uint16_t leaf : leaf_of_rank) {
    unsigned depth = 1;
    for (uint16_t at = leaf; nodes[at].parent != TreeNode::kNoParent; at = nodes[at].parent) {
      ++depth;
    }
    deepest = std::max(deepest, depth);
  }
  return deepest;
}

void TreePlanner::sort_edges() {
  std::sort(edges_.begin(), edges_.end(), [](const Edge& a, const Edge& b) {
    return a.parent != b.parent ? a.parent < b.parent : a.first_rank < b.first_rank;
  });
}

void TreePlanner::make_edges() {
  edges_.clear();
  for (uint32_t rank = 0; rank < parents_.size(); ++rank) {
    edges_.push_back({parents_[rank], rank, false, rank});
  }
  for (uint32_t node = 1; node < placed_.size(); ++node) {
    edges_.push_back({placed_[node].parent, placed_[node].first_rank, true, node});
  }
  for (const Edge& edge : edges_) ++placed_[edge.parent].children;
}

// A node with one child passes everything through: its child goes to its parent. This happens where
// a site that two ways shared has lost one of them to a better site.
void TreePlanner::drop_needless_nodes() {
  for (uint32_t node = 0; node < placed_.size(); ++node) {
    if (placed_[node].children != 1) continue;
    const auto child = std::find_if(edges_.begin(), edges_.end(),
                                    [&](const Edge& edge) { return edge.parent == node; });
    const auto above = std::find_if(edges_.begin(), edges_.end(), [&](const Edge& edge) {
      return edge.is_node && edge.index == node;
    });
    if (above == edges_.end() && !child->is_node) return;  // the only member's only node
    const uint32_t parent = placed_[node].parent;
    if (child->is_node) placed_[child->index].parent = parent;
    child->parent = parent;
    placed_[node].children = 0;
    edges_.erase(above == edges_.end() ? child : above);
  }
}

PlanFailure TreePlanner::split_wide_nodes() {
  sort_edges();
  for (uint32_t node = 0; node < placed_.size(); ++node) {
    for (unsigned fan_in = source_->fan_in(placed_[node].node); placed_[node].children > fan_in;) {
      const PlanFailure failure = split(node, fan_in);
      if (failure != PlanFailure::none) return failure;
    }
  }
  return PlanFailure::none;
}

// Further nodes near `parent` take runs of its children; as few as bring it down to its fan-in.
PlanFailure TreePlanner::split(uint32_t parent, unsigned fan_in) {
  const uint32_t children = placed_[parent].children;
  const uint32_t helpers =
      std::min((children - fan_in + fan_in - 2) / (fan_in - 1), children / fan_in);
  const uint32_t to_absorb = std::min(children - fan_in, helpers * (fan_in - 1));
  const SwitchId near = placed_[parent].at;
  auto edge = std::find_if(edges_.begin(), edges_.end(),
                           [&](const Edge& other) { return other.parent == parent; });
  size_t next = static_cast<size_t>(edge - edges_.begin());
  for (uint32_t helper = 0; helper < helpers; ++helper) {
    const uint32_t run = 1 + to_absorb * (helper + 1) / helpers - to_absorb * helper / helpers;
    const bool ranks = std::any_of(edges_.begin() + static_cast<ptrdiff_t>(next),
                                   edges_.begin() + static_cast<ptrdiff_t>(next + run),
                                   [](const Edge& other) { return !other.is_node; });
    NodeSource::Choice choice;
    SwitchId at;
    for (const SwitchId site : routes_->near(near)) {
      choice = source_->choose(site, run, ranks ? kLeafRole : kInnerRole, taken_);
      at = site;
      if (choice.node.valid() && source_->fan_in(choice.node) >= run) break;
      choice = {};
    }
    failed_near_ = near;
    if (!choice.node.valid()) return PlanFailure::too_many;
    const uint32_t node = add_node(choice.node, at, parent, edges_[next].first_rank);
    placed_[node].children = run;
    placed_[parent].children -= run - 1;
    for (const size_t end = next + run; next < end; ++next) edges_[next].parent = node;
    edges_.push_back({parent, placed_[node].first_rank, true, node});
  }
  sort_edges();
  return PlanFailure::none;
}

// Children and roles are known now. What does not fit is left out of the next attempt.
bool TreePlanner::verify() {
  for (Placed& placed : placed_) placed.takes_ranks = false;
  for (const Edge& edge : edges_) {
    if (!edge.is_node) placed_[edge.parent].takes_ranks = true;
    if (edge.is_node) placed_[edge.index].parent = edge.parent;
  }
  bool good = true;
  for (const Placed& placed : placed_) {
    if (placed.children == 0) continue;
    const bool root = placed.parent == kNobody;
    const int roles = (root ? kRootRole : 0) | (placed.takes_ranks ? kLeafRole : 0);
    const auto needed = static_cast<uint8_t>(roles == 0 ? int{kInnerRole} : roles);
    if (source_->fits(placed.node, placed.children, needed)) continue;
    taken_.push_back(placed.node);
    failed_near_ = placed.at;
    good = false;
  }
  return good;
}

// Breadth first from the root: parents come before their children.
void TreePlanner::write(Tree& tree) const {
  tree.nodes.clear();
  tree.children.clear();
  tree.leaf_of_rank.resize(parents_.size());
  order_.clear();
  for (uint32_t node = 0; node < placed_.size(); ++node) {
    if (placed_[node].parent == kNobody && placed_[node].children != 0) order_.push_back(node);
  }
  tree.nodes.push_back({placed_[order_[0]].node});
  for (uint32_t place = 0; place < order_.size(); ++place) {
    const uint32_t node = order_[place];
    auto edge = std::lower_bound(edges_.begin(), edges_.end(), node,
                                 [](const Edge& a, uint32_t parent) { return a.parent < parent; });
    tree.nodes[place].first_child = static_cast<uint32_t>(tree.children.size());
    tree.nodes[place].children = static_cast<uint16_t>(placed_[node].children);
    for (; edge != edges_.end() && edge->parent == node; ++edge) {
      if (edge->is_node) {
        const auto child = static_cast<uint16_t>(tree.nodes.size());
        tree.nodes.push_back({placed_[edge->index].node, static_cast<uint16_t>(place)});
        order_.push_back(edge->index);
        tree.children.push_back({TreeChild::Kind::node, child});
      } else {
        tree.leaf_of_rank[edge->index] = static_cast<uint16_t>(place);
        tree.children.push_back({TreeChild::Kind::rank, static_cast<uint16_t>(edge->index)});
      }
    }
  }
}

}  // namespace sluice::manager
