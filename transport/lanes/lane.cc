// SPDX-License-Identifier: Apache-2.0
#include "transport/lanes/lane.h"

#include <array>

#include "base/result.h"

namespace sluice::transport {
namespace {

constexpr int kTosOfDscp = 4;  // the two lowest bits are ECN's

constexpr std::array<LaneClasses, kLanes> make_linux_switch_map() {
  std::array<LaneClasses, kLanes> map{};
  for (int lane = 1; lane < kLanes; ++lane) {
    map[lane] = {8 * lane * kTosOfDscp, (8 * lane + 1) * kTosOfDscp};
  }
  return map;
}

constexpr std::array<LaneClasses, kLanes> kLinuxSwitchMap = make_linux_switch_map();

LaneDecision decide(int lane, const char* source, std::string warning) {
  return {lane, kLinuxSwitchMap[static_cast<size_t>(lane)],
          format_text("lane %d (%s)", lane, source), std::move(warning)};
}

bool in_range(int lane) {
  return lane >= 0 && lane < kLanes;
}

std::string refusal(const char* setting, int value) {
  return format_text("%s %d is refused: lanes are numbered 0 to %d", setting, value, kLanes - 1);
}

}  // namespace

LaneClasses linux_switch_classes(int lane) {
  return in_range(lane) ? kLinuxSwitchMap[static_cast<size_t>(lane)] : LaneClasses{};
}

LaneDecision choose_lane(const LaneRequest& request) {
  std::string warning;
  if (request.explicit_lane != -1) {
    if (in_range(request.explicit_lane)) return decide(request.explicit_lane, "SLUICE_LANE", {});
    warning = refusal("SLUICE_LANE", request.explicit_lane);
  }
  if (request.traffic_class != -1) {
    if (in_range(request.traffic_class)) {
      return decide(request.traffic_class, "trafficClass of the communicator", std::move(warning));
    }
    if (!warning.empty()) warning += "; ";
    warning += refusal("trafficClass", request.traffic_class);
  }
  if (request.verbatim_tos != -1) {
    if (request.verbatim_tos >= 0 && request.verbatim_tos <= 255) {
      return {std::nullopt,
              {request.verbatim_tos, request.verbatim_tos},
              format_text("marking off, traffic class %d (NCCL_IB_TC)", request.verbatim_tos),
              std::move(warning)};
    }
    if (!warning.empty()) warning += "; ";
    warning +=
        format_text("NCCL_IB_TC %d is refused: a traffic class is 0 to 255", request.verbatim_tos);
  }
  return decide(kDefaultLane, "default", std::move(warning));
}

}  // namespace sluice::transport
