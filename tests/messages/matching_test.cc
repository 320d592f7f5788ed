// SPDX-License-Identifier: Apache-2.0
#include "transport/messages/matching.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

namespace sluice::transport {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class MatcherTest : public ::testing::Test {
 protected:
  // "send 3 -> group 1 buffer 0" as {3, 1, 0}
  using Triple = std::array<uint32_t, 3>;
  std::vector<Triple> matches_;
  Matcher matcher_{[this](const Matcher::Match& match) {
    matches_.push_back({match.send, match.group, match.buffer});
  }};
  void group(uint32_t id, std::vector<int> tags) { matcher_.add_group(id, tags); }
};

TEST_F(MatcherTest, ASendWaitsForItsGroup) {
  matcher_.add_send(0, 7);
  EXPECT_THAT(matches_, IsEmpty());
  group(5, {7});
  EXPECT_THAT(matches_, ElementsAre(Triple{0, 5, 0}));
  EXPECT_EQ(matcher_.open_groups(), 0u);
}

TEST_F(MatcherTest, AGroupWaitsForItsSends) {
  group(0, {1, 2, 3});
  matcher_.add_send(10, 3);
  matcher_.add_send(11, 1);
  EXPECT_EQ(matcher_.open_groups(), 1u);
  matcher_.add_send(12, 2);
  EXPECT_THAT(matches_, ElementsAre(Triple{10, 0, 2}, Triple{11, 0, 0}, Triple{12, 0, 1}));
  EXPECT_EQ(matcher_.open_groups(), 0u);
}

TEST_F(MatcherTest, EqualTagsMatchInOrder) {
  matcher_.add_send(0, 9);
  matcher_.add_send(1, 9);
  matcher_.add_send(2, 9);
  group(0, {9, 9});
  group(1, {9});
  EXPECT_THAT(matches_, ElementsAre(Triple{0, 0, 0}, Triple{1, 0, 1}, Triple{2, 1, 0}));
}

TEST_F(MatcherTest, OnlyTheOldestGroupIsServed) {
  group(0, {1});
  group(1, {2});
  matcher_.add_send(0, 2);  // belongs to the second group, which is not its turn
  EXPECT_THAT(matches_, IsEmpty());
  matcher_.add_send(1, 1);
  EXPECT_THAT(matches_, ElementsAre(Triple{1, 0, 0}, Triple{0, 1, 0}));
}

TEST_F(MatcherTest, ASendThatFitsNothingHoldsUpNobody) {
  matcher_.add_send(0, 42);
  matcher_.add_send(1, 1);
  group(0, {1});
  EXPECT_THAT(matches_, ElementsAre(Triple{1, 0, 0}));
  EXPECT_EQ(matcher_.waiting_sends(), 1u);
}

TEST_F(MatcherTest, AnyInterleavingGivesTheSamePairs) {
  std::mt19937 random(1);
  for (int round = 0; round < 300; ++round) {
    // Groups with random tags and, for each buffer, one send; sends of a tag keep their order.
    std::vector<std::vector<int>> groups(1 + random() % 6);
    std::vector<int> sends;
    for (auto& tags : groups) {
      tags.resize(1 + random() % Matcher::kMaxBuffers);
      for (int& tag : tags) tag = static_cast<int>(random() % 3);
      std::vector<int> shuffled = tags;
      std::shuffle(shuffled.begin(), shuffled.end(), random);
      sends.insert(sends.end(), shuffled.begin(), shuffled.end());
    }
    auto run = [&](bool sends_first, uint32_t seed) {
      std::vector<Triple> pairs;
      Matcher matcher([&](const Matcher::Match& m) {
        pairs.push_back({m.send, m.group, m.buffer});
      });
      std::mt19937 order(seed);
      size_t next_send = 0;
      size_t next_group = 0;
      while (next_send < sends.size() || next_group < groups.size()) {
        const bool can_send = next_send < sends.size();
        const bool pick_send = can_send && (next_group == groups.size() || sends_first ||
                                            (seed != 0 && order() % 2 == 0));
        if (pick_send) {
          matcher.add_send(static_cast<uint32_t>(next_send), sends[next_send]);
          ++next_send;
        } else {
          matcher.add_group(static_cast<uint32_t>(next_group), groups[next_group]);
          ++next_group;
        }
      }
      std::sort(pairs.begin(), pairs.end());
      EXPECT_EQ(pairs.size(), sends.size());
      EXPECT_EQ(matcher.open_groups(), 0u);
      return pairs;
    };
    const auto expected = run(false, 0);
    EXPECT_EQ(run(true, 0), expected);
    EXPECT_EQ(run(false, 17), expected);
  }
}

}  // namespace
}  // namespace sluice::transport
