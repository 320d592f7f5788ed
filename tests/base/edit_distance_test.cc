// SPDX-License-Identifier: Apache-2.0
#include "base/edit_distance.h"

#include <gtest/gtest.h>

namespace sluice {
namespace {

TEST(EditDistance, CountsSlips) {
  EXPECT_EQ(edit_distance("", ""), 0U);
  EXPECT_EQ(edit_distance("", "abc"), 3U);
  EXPECT_EQ(edit_distance("abc", ""), 3U);
  EXPECT_EQ(edit_distance("abc", "abc"), 0U);
  EXPECT_EQ(edit_distance("abc", "abd"), 1U);
  EXPECT_EQ(edit_distance("abc", "ab"), 1U);
  EXPECT_EQ(edit_distance("abc", "xabc"), 1U);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3U);
}

TEST(EditDistance, ASwapIsOneSlip) {
  EXPECT_EQ(edit_distance("ab", "ba"), 1U);
  EXPECT_EQ(edit_distance("NCCL_SOKCET", "NCCL_SOCKET"), 1U);
  EXPECT_EQ(edit_distance("abcd", "badc"), 2U);
  EXPECT_EQ(edit_distance("ca", "abc"), 3U);  // a swapped pair is not edited again
}

TEST(EditDistance, IsSymmetric) {
  for (const auto& [left, right] :
       {std::pair("SLUICE_LANE", "SLUICE_AGG"), std::pair("saturday", "sunday")}) {
    EXPECT_EQ(edit_distance(left, right), edit_distance(right, left));
  }
}

}  // namespace
}  // namespace sluice
