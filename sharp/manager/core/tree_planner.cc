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
  parents_.assign(task_->members.size(), 0);
  const size_t tried_before = taken_.size();
  PlanFailure failure = place_root();
  if (failure == PlanFailure::none) {
    attach(0, 0, items_.size(), 1);
    make_edges();
    drop_needless_nodes();
    failure = split_wide_nodes();
  }
  taken_.resize(tried_before);
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

// The item that is farthest from the one that is farthest from the first: with few hops in all
// fabrics that are built, this pair is as far apart as any.
PlanFailure TreePlanner::check_reachable(size_t& farthest) const {
  farthest = 0;
  for (size_t other = 1; other < items_.size(); ++other) {
    const uint8_t hops = routes_->distance(items_[0].at, items_[other].at);
    if (hops == Routes::kUnreachable) {
      farthest = other;
      return PlanFailure::no_path;
    }
    if (hops > routes_->distance(items_[0].at, items_[farthest].at)) farthest = other;
  }
  return PlanFailure::none;
}

PlanFailure TreePlanner::place_root() {
  size_t one = 0;
  const PlanFailure failure = check_reachable(one);
  failed_near_ = items_[one].at;
  if (failure != PlanFailure::none) return failure;
  size_t other = 0;
  for (size_t item = 1; item < items_.size(); ++item) {
    if (routes_->distance(items_[one].at, items_[item].at) >
        routes_->distance(items_[one].at, items_[other].at)) {
      other = item;
    }
  }
  const auto meeting = routes_->meeting_points(items_[one].at, items_[other].at);
  if (meeting.empty()) return PlanFailure::no_path;
  const size_t start = meeting.size() <= kMostLookedAt ? 0 : task_->spread % meeting.size();
  SwitchId at;
  NodeSource::Choice root = best_root(meeting, start, at);
  if (!root.node.valid()) root = best_root(routes_->near(items_[one].at), 0, at);
  if (!root.node.valid() && one != other) root = best_root(routes_->near(items_[other].at), 0, at);
  if (!root.node.valid()) return PlanFailure::no_room;
  add_node(root.node, at, kNobody, 0);
  return PlanFailure::none;
}

// Fewest hops to the farthest, fewest in all, least load; looks at kMostLookedAt places with room
// at most.
NodeSource::Choice TreePlanner::best_root(std::span<const SwitchId> sites, size_t start,
                                          SwitchId& at) {
  NodeSource::Choice best;
  uint64_t best_cost = UINT64_MAX;
  size_t looked_at = 0;
  for (size_t step = 0; step < sites.size() && looked_at < kMostLookedAt; ++step) {
    const size_t index = start + step;
    const SwitchId site = sites[index < sites.size() ? index : index - sites.size()];
    unsigned most = 0, children = 0;
    uint64_t all = 0;
    bool at_members = false;
    for (const Item& item : items_) {
      const unsigned hops = routes_->distance(site, item.at);
      most = std::max(most, hops);
      all += uint64_t{hops} * item.weight();
      children += hops == 0 ? item.weight() : 1;
      at_members = at_members || hops == 0;
    }
    const uint64_t cost = uint64_t{most} << 48 | all;
    if (most == Routes::kUnreachable || cost > best_cost) continue;
    const uint8_t roles = static_cast<uint8_t>(kRootRole | (at_members ? kLeafRole : 0));
    const NodeSource::Choice choice = source_->choose(site, children, roles, taken_);
    if (!choice.node.valid()) continue;
    ++looked_at;
    if (cost == best_cost && choice.load >= best.load) continue;
    best = choice;
    best_cost = cost;
    at = site;
  }
  return best;
}

uint32_t TreePlanner::add_node(NodeId node, SwitchId at, uint32_t parent, uint32_t first_rank) {
  placed_.push_back({node, at, parent, first_rank, 0, false});
  taken_.push_back(node);
  return static_cast<uint32_t>(placed_.size() - 1);
}

// Items [begin, end) hang on `parent`: puts nodes between where that saves hops.
void TreePlanner::attach(uint32_t parent, size_t begin, size_t end, unsigned depth) {
  SwitchId at;
  NodeSource::Choice choice;
  const SwitchId parent_at = placed_[parent].at;
  while (depth + 2 < kMaxDepth && place_between(parent, begin, end, at, choice)) {
    const auto first = items_.begin() + static_cast<ptrdiff_t>(begin);
    const auto last = items_.begin() + static_cast<ptrdiff_t>(end);
    const auto rest = std::partition(first, last, [&](const Item& item) {
      const unsigned past = routes_->distance(item.at, at) + routes_->distance(at, parent_at);
      return past != routes_->distance(item.at, parent_at);
    });
    uint32_t lowest = kNobody;
    for (auto item = rest; item != last; ++item) lowest = std::min(lowest, ranks_[item->begin]);
    const uint32_t node = add_node(choice.node, at, parent, lowest);
    const size_t middle = static_cast<size_t>(rest - items_.begin());
    attach(node, middle, end, depth + 1);
    end = middle;
  }
  for (size_t item = begin; item < end; ++item) {
    for (uint32_t rank = items_[item].begin; rank < items_[item].end; ++rank) {
      parents_[ranks_[rank]] = parent;
    }
  }
}

// Adds the item to the sites on its shortest ways to the parent.
void TreePlanner::cover(const Item& item, SwitchId parent_at) {
  const unsigned whole = routes_->distance(item.at, parent_at);
  for (const SwitchId site : routes_->near(item.at)) {
    const unsigned below = routes_->distance(item.at, site);
    if (below >= whole) break;
    if (below + routes_->distance(site, parent_at) != whole) continue;
    if (site.index() >= covers_.size()) covers_.resize(site.index() + 1);
    Cover& entry = covers_[site.index()];
    if (entry.weight == 0) covered_.push_back(site);
    entry.weight += item.weight();
    entry.children += below == 0 ? item.weight() : 1;
    entry.at_members = entry.at_members || below == 0;
  }
}

// The site whose node would save most hops: all but one of its connections save the way from there.
bool TreePlanner::place_between(uint32_t parent, size_t begin, size_t end, SwitchId& at,
                                NodeSource::Choice& choice) {
  const SwitchId parent_at = placed_[parent].at;
  for (size_t item = begin; item < end; ++item) cover(items_[item], parent_at);
  uint64_t best = 0;
  choice = {};
  for (const SwitchId site : covered_) {
    Cover entry = covers_[site.index()];
    covers_[site.index()] = {};
    const uint64_t saved = uint64_t{entry.weight - 1} * routes_->distance(site, parent_at);
    if (saved == 0 || saved < best) continue;
    const uint8_t roles = entry.at_members ? kLeafRole : kInnerRole;
    const NodeSource::Choice found = source_->choose(site, entry.children, roles, taken_);
    if (!found.node.valid()) continue;
    if (saved == best && (found.load > choice.load || (found.load == choice.load && site > at))) {
      continue;
    }
    best = saved;
    choice = found;
    at = site;
  }
  covered_.clear();
  return choice.node.valid();
}

}  // namespace sluice::manager
