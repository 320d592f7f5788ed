// SPDX-License-Identifier: Apache-2.0
#include "transport/lanes/lane.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice::transport {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(LaneMap, LinuxSwitchClassesFollowTheDesign) {
  EXPECT_EQ(linux_switch_classes(0).in_order_tos, 0);
  EXPECT_EQ(linux_switch_classes(0).adaptive_tos, 0);
  for (int lane = 1; lane < kLanes; ++lane) {
    EXPECT_EQ(linux_switch_classes(lane).in_order_tos, (8 * lane) << 2) << lane;
    EXPECT_EQ(linux_switch_classes(lane).adaptive_tos, (8 * lane + 1) << 2) << lane;
  }
}

struct Case {
  LaneRequest request;
  int lane;  // -1: marking off
  int in_order_tos;
  const char* rule;
  const char* warning;  // "" for none
};

TEST(LaneChoice, PrecedenceTable) {
  const Case cases[] = {
      {{-1, -1, -1}, 1, 32, "default", ""},
      {{-1, -1, 106}, -1, 106, "NCCL_IB_TC", ""},
      {{-1, 3, 106}, 3, 96, "trafficClass", ""},
      {{2, 3, 106}, 2, 64, "SLUICE_LANE", ""},
      {{0, -1, -1}, 0, 0, "SLUICE_LANE", ""},
      {{8, 3, -1}, 3, 96, "trafficClass", "SLUICE_LANE 8 is refused"},
      {{-1, 99, -1}, 1, 32, "default", "trafficClass 99 is refused"},
      {{-7, 99, 104}, -1, 104, "NCCL_IB_TC", "SLUICE_LANE -7 is refused"},
      {{-1, -1, 256}, 1, 32, "default", "NCCL_IB_TC 256 is refused"},
  };
  for (const Case& expected : cases) {
    const LaneDecision decision = choose_lane(expected.request);
    EXPECT_EQ(decision.lane.value_or(-1), expected.lane) << expected.rule;
    EXPECT_EQ(decision.classes.in_order_tos, expected.in_order_tos) << expected.rule;
    EXPECT_THAT(decision.rule, HasSubstr(expected.rule));
    if (*expected.warning == '\0') {
      EXPECT_THAT(decision.warning, IsEmpty());
    } else {
      EXPECT_THAT(decision.warning, HasSubstr(expected.warning));
    }
  }
}

}  // namespace
}  // namespace sluice::transport
