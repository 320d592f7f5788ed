// SPDX-License-Identifier: Apache-2.0
#include "sharp/manager/core/routes.h"

#include <algorithm>

namespace sluice::manager {

Routes::Routes(const Fabric& fabric)
    : switches_(fabric.switches().size()), meeting_of_pair_(switches_ * switches_, kNotComputed) {
  std::vector<bool> inhabited(switches_);
  for (const Node& node : fabric.nodes()) {
    if (node.at.valid()) inhabited[node.at.index()] = true;
  }
  for (size_t at = 0; at < switches_; ++at) {
    if (inhabited[at]) sites_.push_back(SwitchId{static_cast<uint32_t>(at)});
  }
  measure(fabric);
  find_near();
}

// Breadth first from every switch.
void Routes::measure(const Fabric& fabric) {
  std::vector<std::vector<uint32_t>> neighbours(switches_);
  for (const Trunk& trunk : fabric.trunks()) {
    if (!trunk.healthy) continue;
    neighbours[trunk.a.index()].push_back(trunk.b.value);
    neighbours[trunk.b.index()].push_back(trunk.a.value);
  }
  for (auto& list : neighbours) {
    std::sort(list.begin(), list.end());
    list.erase(std::unique(list.begin(), list.end()), list.end());
  }
  distances_.assign(switches_ * switches_, kUnreachable);
  std::vector<uint32_t> reached;
  for (size_t from = 0; from < switches_; ++from) {
    uint8_t* row = &distances_[from * switches_];
    row[from] = 0;
    reached.assign(1, static_cast<uint32_t>(from));
    for (size_t next = 0; next < reached.size(); ++next) {
      const uint8_t hops = row[reached[next]];
      if (hops == kUnreachable - 1) break;
      for (const uint32_t neighbour : neighbours[reached[next]]) {
        if (row[neighbour] != kUnreachable) continue;
        row[neighbour] = static_cast<uint8_t>(hops + 1);
        reached.push_back(neighbour);
      }
    }
  }
}

void Routes::find_near() {
  near_begin_.assign(1, 0);
  std::vector<SwitchId> reachable;
  for (size_t at = 0; at < switches_; ++at) {
    const SwitchId from{static_cast<uint32_t>(at)};
    reachable.clear();
    for (const SwitchId site : sites_) {
      if (distance(from, site) != kUnreachable) reachable.push_back(site);
    }
    std::stable_sort(reachable.begin(), reachable.end(),
                     [&](SwitchId a, SwitchId b) { return distance(from, a) < distance(from, b); });
    if (reachable.size() > kMostNear) reachable.resize(kMostNear);
    near_.insert(near_.end(), reachable.begin(), reachable.end());
    near_begin_.push_back(static_cast<uint32_t>(near_.size()));
  }
}

std::span<const SwitchId> Routes::meeting_points(SwitchId a, SwitchId b) const {
  uint32_t& number = meeting_of_pair_[std::min(a, b).index() * switches_ + std::max(a, b).index()];
  if (number == kNotComputed) {
    const auto [set, fresh] = meeting_numbers_.emplace(compute_meeting_points(a, b),
                                                       static_cast<uint32_t>(meetings_.size()));
    if (fresh) meetings_.push_back(&set->first);
    number = set->second;
  }
  return *meetings_[number];
}

std::vector<SwitchId> Routes::compute_meeting_points(SwitchId a, SwitchId b) const {
  std::vector<SwitchId> points;
  unsigned best = UINT32_MAX;
  for (const SwitchId site : sites_) {
    const unsigned from_a = distance(a, site);
    const unsigned from_b = distance(b, site);
    if (from_a == kUnreachable || from_b == kUnreachable) continue;
    const unsigned cost = std::max(from_a, from_b) << 9 | (from_a + from_b);
    if (cost > best) continue;
    if (cost < best) points.clear();
    best = cost;
    points.push_back(site);
  }
  return points;
}

}  // namespace sluice::manager
