// SPDX-License-Identifier: Apache-2.0
// Lanes: which class of the network a communicator's traffic travels in.
//
// A lane has two classes on the wire, in order (small messages, control) and adaptive (bulk). The
// map from lane to classes is data, one table per kind of fabric; here the one for Linux switches
// and plain TCP. Which lane a communicator gets without a site policy: an explicit setting, else
// NCCL's trafficClass (a lane number), else NCCL_IB_TC verbatim (lane marking off), else lane 1.
// Lane 0 is Sluice's own control traffic. Thread rule: pure functions, any thread.
#pragma once

#include <optional>
#include <string>

namespace sluice::transport {

inline constexpr int kLanes = 8;
inline constexpr int kDefaultLane = 1;

// IP type-of-service bytes (DSCP << 2).
struct LaneClasses {
  int in_order_tos = 0;
  int adaptive_tos = 0;
};

// lane 0..kLanes-1 on a Linux switch: lane 0 DSCP 0, lane k DSCP 8k in order and 8k+1 adaptive.
LaneClasses linux_switch_classes(int lane);

struct LaneRequest {
  int explicit_lane = -1;  // SLUICE_LANE; -1: not set
  int traffic_class = -1;  // of the communicator (ncclNetCommConfig); -1: undefined
  int verbatim_tos = -1;   // NCCL_IB_TC; -1: not set
};

struct LaneDecision {
  std::optional<int> lane;  // empty: marking off, a type-of-service byte taken verbatim
  LaneClasses classes;
  std::string rule;     // "lane 2 (SLUICE_LANE)": for the communicator's log line
  std::string warning;  // a setting that was refused, and why; empty: none
};

LaneDecision choose_lane(const LaneRequest& request);

}  // namespace sluice::transport
