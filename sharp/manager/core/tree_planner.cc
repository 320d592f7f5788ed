// SPDX-License-Identifier: Apache-2.0
// Where nodes are put. How the result becomes a tree: tree_assembly.cc.
#include "sharp/manager/core/tree_planner.h"

#include <algorithm>
#include <numeric>

#include "sharp/manager/core/fabric_description.h"

namespace sluice::manager {

PlanFailure TreePlanner::plan(const Routes& routes, const Task& task, NodeSource& source,
                              Tree& tree) {
  routes_ = &routes;
  task_ = &task;
  source_ = &source;
  failed_near_ = {};
  taken_.assign(task.taken.begin(), task.taken.end());
  collect_items();
  // How many children a node gets is known only at the end: one that proves too small is left out.
  for (int left = kMostAttempts; left > 0; --left) {
    const PlanFailure failure = attempt();
    if (failure != PlanFailure::none) return failure;
    if (verify()) {
      write(tree);
      return tree.depth() <= kMaxDepth ? PlanFailure::none : PlanFailure::too_many;
    }
  }
  return PlanFailure::no_room;
}

PlanFailure TreePlanner::attempt() {
  placed_.clear();
  parents_.resize(task_->members.size());
  const size_t taken_before = taken_.size();
  PlanFailure failure = place_root();
  if (failure == PlanFailure::none) {
    attach(0, 0, items_.size(), 1);
    count_children();
    for (uint32_t node = 0; node < placed_.size(); ++node) {
      if (placed_[node].children == 1) leave_out(node);
    }
    for (uint32_t node = 0; node < placed_.size() && failure == PlanFailure::none; ++node) {
      const unsigned fan_in = source_->fan_in(placed_[node].node);
      while (placed_[node].children > fan_in && failure == PlanFailure::none) {
        failure = split(node, fan_in);
      }
    }
  }
  taken_.resize(taken_before);
  return failure;
}

// One item per switch, in the order of switches; ranks ascend within it.
void TreePlanner::collect_items() {
  const auto members = task_->members;
  ranks_.resize(members.size());
  std::iota(ranks_.begin(), ranks_.end(), 0);
  if (!std::is_sorted(members.begin(), members.end())) {
    std::sort(ranks_.begin(), ranks_.end(), [&](uint32_t a, uint32_t b) {
      return members[a] != members[b] ? members[a] < members[b] : a < b;
    });
  }
  items_.clear();
  for (uint32_t at = 0; at < ranks_.size(); ++at) {
    const SwitchId home = members[ranks_[at]];
    if (items_.empty() || items_.back().at != home) items_.push_back({home, at, at});
    ++items_.back().end;
  }
}

// Two items that are far apart: the one that is farthest from the first, and the one that is
// farthest from that. In fabrics that are built hardly any two are farther apart.
PlanFailure TreePlanner::find_ends(size_t& one, size_t& other) const {
  one = other = 0;
  const uint8_t* distances = routes_->distances(items_[0].at);
  for (size_t item = 1; item < items_.size(); ++item) {
    const uint8_t hops = distances[items_[item].at.index()];
    if (hops > distances[items_[one].at.index()]) one = item;
    if (hops == Routes::kUnreachable) return PlanFailure::no_path;
  }
  distances = routes_->distances(items_[one].at);
  for (size_t item = 1; item < items_.size(); ++item) {
    if (distances[items_[item].at.index()] > distances[items_[other].at.index()]) other = item;
  }
  return PlanFailure::none;
}

PlanFailure TreePlanner::place_root() {
  size_t one = 0, other = 0;
  const PlanFailure failure = find_ends(one, other);
  failed_near_ = items_[one].at;
  if (failure != PlanFailure::none) return failure;
  const auto meeting = routes_->meeting_points(items_[one].at, items_[other].at);
  if (meeting.empty()) return PlanFailure::no_path;
  const size_t start = meeting.size() <= kMostLookedAt ? 0 : task_->spread % meeting.size();
  const bool placed = place_root_among(meeting, start) ||
                      place_root_among(routes_->near(items_[one].at), 0) ||
                      (one != other && place_root_among(routes_->near(items_[other].at), 0));
  if (placed) return PlanFailure::none;
  failed_children_ = root_spot(meeting[start]).children;
  return PlanFailure::no_room;
}

// Fewest hops to the farthest member, then fewest in all, then least load, among the first
// kMostLookedAt sites that may have room.
bool TreePlanner::place_root_among(std::span<const SwitchId> sites, size_t start) {
  spots_.clear();
  for (size_t step = 0; step < sites.size() && spots_.size() < kMostLookedAt; ++step) {
    const size_t index = start + step;
    const SwitchId site = sites[index < sites.size() ? index : index - sites.size()];
    if (source_->glance(site, 1) == NodeSource::kNoRoom) continue;
    const Spot spot = root_spot(site);
    if (spot.load != NodeSource::kNoRoom) spots_.push_back(spot);
  }
  while (!spots_.empty()) {
    const size_t best = best_spot(0);
    const Spot spot = spots_[best];
    const int roles = kRootRole | (spot.at_members ? kLeafRole : 0);
    const NodeId node =
        source_->choose(spot.at, spot.children, static_cast<uint8_t>(roles), taken_);
    if (node.valid()) {
      add_node(node, spot.at, kNobody, 0);
      spots_.clear();
      return true;
    }
    remove_spot(best);
  }
  return false;
}

TreePlanner::Spot TreePlanner::root_spot(SwitchId at) {
  Spot spot{at, 0, 0, false, NodeSource::kNoRoom, 0};
  const uint8_t* distances = routes_->distances(at);
  uint64_t farthest = 0, all = 0;
  for (const Item& item : items_) {
    const uint64_t hops = distances[item.at.index()];
    farthest = std::max(farthest, hops);
    all += hops * item.weight();
    spot.children += hops == 0 ? item.weight() : 1;
    spot.at_members = spot.at_members || hops == 0;
  }
  if (farthest == Routes::kUnreachable) return spot;
  spot.worth = ~(farthest << 48 | all);
  spot.load = source_->glance(at, spot.children);
  return spot;
}

size_t TreePlanner::best_spot(size_t base) const {
  size_t best = base;
  for (size_t index = base + 1; index < spots_.size(); ++index) {
    const Spot& a = spots_[index];
    const Spot& b = spots_[best];
    if (a.worth != b.worth ? a.worth > b.worth : a.load != b.load ? a.load < b.load : a.at < b.at) {
      best = index;
    }
  }
  return best;
}

void TreePlanner::remove_spot(size_t index) {
  spots_[index] = spots_.back();
  spots_.pop_back();
}

uint32_t TreePlanner::add_node(NodeId node, SwitchId at, uint32_t parent, uint32_t first_rank) {
  placed_.push_back({node, at, parent, first_rank, 0, false});
  taken_.push_back(node);
  return static_cast<uint32_t>(placed_.size() - 1);
}

// Items [begin, end) hang on `parent`. Puts nodes between where that saves hops, the worthiest
// first: of all connections that run together there, all but one save the way to the parent.
void TreePlanner::attach(uint32_t parent, size_t begin, size_t end, unsigned depth) {
  const SwitchId parent_at = placed_[parent].at;
  const size_t base = spots_.size();
  if (depth + 2 < kMaxDepth) collect_spots(parent_at, begin, end);
  while (spots_.size() > base && begin != end) {
    const size_t best = best_spot(base);
    Spot& spot = spots_[best];
    // Others may have taken some of its items meanwhile; it is worth less then, never more.
    const uint64_t worth_before = spot.worth;
    recount(spot, parent_at, begin, end);
    if (spot.worth != 0 && spot.worth != worth_before) continue;
    const SwitchId at = spot.at;
    NodeId node;
    if (spot.worth != 0) {
      node = source_->choose(at, spot.children, spot.at_members ? kLeafRole : kInnerRole, taken_);
    }
    remove_spot(best);
    if (!node.valid()) continue;
    const uint8_t* to_parent = routes_->distances(parent_at);
    const uint8_t* to_node = routes_->distances(at);
    const auto first = items_.begin() + static_cast<ptrdiff_t>(begin);
    const auto last = items_.begin() + static_cast<ptrdiff_t>(end);
    const auto covered = std::partition(first, last, [&](const Item& item) {
      return to_node[item.at.index()] + to_node[parent_at.index()] != to_parent[item.at.index()];
    });
    uint32_t lowest = kNobody;
    for (auto item = covered; item != last; ++item) lowest = std::min(lowest, ranks_[item->begin]);
    const uint32_t child = add_node(node, at, parent, lowest);
    const auto middle = static_cast<size_t>(covered - items_.begin());
    attach(child, middle, end, depth + 1);
    end = middle;
  }
  spots_.resize(base);
  for (size_t item = begin; item < end; ++item) {
    for (uint32_t rank = items_[item].begin; rank < items_[item].end; ++rank) {
      parents_[ranks_[rank]] = parent;
    }
  }
}

// All sites on shortest ways from the items to the parent that at least two connections pass.
void TreePlanner::collect_spots(SwitchId parent_at, size_t begin, size_t end) {
  const size_t base = spots_.size();
  const uint8_t* to_parent = routes_->distances(parent_at);
  for (size_t index = begin; index < end; ++index) {
    const Item& item = items_[index];
    const unsigned whole = to_parent[item.at.index()];
    const uint8_t* from_item = routes_->distances(item.at);
    for (const SwitchId site : routes_->near(item.at)) {
      const unsigned below = from_item[site.index()];
      if (below >= whole) break;
      if (below + to_parent[site.index()] != whole) continue;
      if (site.index() >= spot_at_.size()) spot_at_.resize(site.index() + 1);
      uint32_t& known = spot_at_[site.index()];
      if (known == 0) {
        spots_.push_back({site});
        known = static_cast<uint32_t>(spots_.size());
      }
      Spot& spot = spots_[known - 1];
      spot.weight += item.weight();
      spot.children += below == 0 ? item.weight() : 1;
    }
  }
  size_t kept = base;
  for (size_t index = base; index < spots_.size(); ++index) {
    Spot spot = spots_[index];
    spot_at_[spot.at.index()] = 0;
    if (spot.weight < 2) continue;
    spot.load = source_->glance(spot.at, spot.children);
    if (spot.load == NodeSource::kNoRoom) continue;
    spot.worth = uint64_t{spot.weight - 1} * to_parent[spot.at.index()];
    spots_[kept++] = spot;
  }
  spots_.resize(kept);
}

void TreePlanner::recount(Spot& spot, SwitchId parent_at, size_t begin, size_t end) const {
  const uint8_t* to_spot = routes_->distances(spot.at);
  const uint8_t* to_parent = routes_->distances(parent_at);
  const unsigned above = to_spot[parent_at.index()];
  spot.weight = spot.children = 0;
  spot.at_members = false;
  for (size_t index = begin; index < end; ++index) {
    const Item& item = items_[index];
    const unsigned below = to_spot[item.at.index()];
    if (below + above != to_parent[item.at.index()]) continue;
    spot.weight += item.weight();
    spot.children += below == 0 ? item.weight() : 1;
    spot.at_members = spot.at_members || below == 0;
  }
  spot.worth = spot.weight < 2 ? 0 : uint64_t{spot.weight - 1} * above;
}

}  // namespace sluice::manager
