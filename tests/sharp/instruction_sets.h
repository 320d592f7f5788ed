// SPDX-License-Identifier: Apache-2.0
// Runs kernels on each of the instruction sets that this machine and Highway have in common.
#pragma once

#include <gtest/gtest.h>
#include <hwy/targets.h>

namespace sluice::sharp::testing {

// The best that may be used is `best`, a bit of Highway's; lower bits are better ones. 0 allows
// all.
inline void allow_up_to(int64_t best) {
  hwy::SetSupportedTargetsForTest(0);
  const int64_t all = hwy::SupportedTargets();
  hwy::SetSupportedTargetsForTest(best == 0 ? 0 : all & ~(best - 1));
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

// Stops at the first fatal failure.
template <typename Function>
void for_each_instruction_set(Function function) {
  allow_up_to(0);
  const int64_t all = hwy::SupportedTargets();
  for (int64_t bit = 1; bit > 0 && bit <= all; bit <<= 1) {
    if ((all & bit) == 0 || ::testing::Test::HasFatalFailure()) continue;
    allow_up_to(bit);
    SCOPED_TRACE(hwy::TargetName(bit));
    function();
  }
  allow_up_to(0);
}

}  // namespace sluice::sharp::testing
