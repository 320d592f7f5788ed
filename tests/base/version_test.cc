// SPDX-License-Identifier: Apache-2.0
#include "base/version.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice {
namespace {

TEST(Version, SaysWhichSluice) {
  EXPECT_THAT(kVersion, ::testing::MatchesRegex("[0-9]+\\.[0-9]+\\.[0-9]+"));
  EXPECT_THAT(kGitId, ::testing::MatchesRegex("unknown|[0-9a-f]+\\+?"));
}

}  // namespace
}  // namespace sluice
