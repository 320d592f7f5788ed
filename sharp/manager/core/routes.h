// SPDX-License-Identifier: Apache-2.0
// Distances over the healthy links of a fabric, computed once when it changes so that placing a
// tree never walks the graph.
//
// A site is a switch at which aggregation nodes stand. Units: hops from switch to switch.
// Thread rule: meeting_points() remembers what it computed: one thread at a time.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "sharp/manager/core/fabric.h"

namespace sluice::manager {

class Routes {
 public:
  static constexpr uint8_t kUnreachable = 0xff;
  // Sites near a switch that are looked at: beyond, a detour costs more than the tree brings.
  static constexpr size_t kMostNear = 64;

  explicit Routes(const Fabric& fabric);

  uint8_t distance(SwitchId from, SwitchId to) const {
    return distances_[from.index() * switches_ + to.index()];
  }
  // distance(from, x) by x.
  const uint8_t* distances(SwitchId from) const { return &distances_[from.index() * switches_]; }
  // Sites by distance, then by number; unreachable ones are not there.
  std::span<const SwitchId> near(SwitchId from) const {
    return std::span(near_).subspan(near_begin_[from.index()],
                                    near_begin_[from.index() + 1] - near_begin_[from.index()]);
  }
  // Sites at which ways from both switches meet soonest: the farther of the two distances is least,
  // then their sum. Empty: none is reachable from both.
  std::span<const SwitchId> meeting_points(SwitchId a, SwitchId b) const;

 private:
  void measure(const Fabric& fabric);
  void find_near();
  std::vector<SwitchId> compute_meeting_points(SwitchId a, SwitchId b) const;

  size_t switches_ = 0;
  std::vector<SwitchId> sites_;
  std::vector<uint8_t> distances_;  // switches_ x switches_
  std::vector<SwitchId> near_;
  std::vector<uint32_t> near_begin_;
  // Few sets, many pairs: a pair has the number of its set, kNotComputed before it is asked for.
  static constexpr uint32_t kNotComputed = UINT32_MAX;
  mutable std::vector<uint32_t> meeting_of_pair_;  // switches_ x switches_, the lower number first
  mutable std::map<std::vector<SwitchId>, uint32_t> meeting_numbers_;
  mutable std::vector<const std::vector<SwitchId>*> meetings_;  // keys of meeting_numbers_
};

}  // namespace sluice::manager
