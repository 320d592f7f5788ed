// SPDX-License-Identifier: Apache-2.0
// Rank 0's arithmetic, and what it says about accounts that cannot be.
#include "sharp/client/recovery/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sharp/client/recovery/ledger.h"

namespace sluice::sharp {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr uint32_t kWindow = 4;
constexpr std::array<uint32_t, kTrafficClasses> kWindows{8, kWindow};

// Of the streaming class; bits in text, "0110".
Standing standing(uint64_t posted, uint64_t base, uint64_t first, const std::string& bits) {
  Standing standing;
  ClassStanding& streaming = standing.classes[1];
  streaming.posted = posted;
  streaming.base = base;
  streaming.first = first;
  streaming.holds.resize((bits.size() + 7) / 8);
  for (size_t bit = 0; bit < bits.size(); ++bit) {
    if (bits[bit] != '1') continue;
    streaming.holds[bit / 8] = static_cast<uint8_t>(streaming.holds[bit / 8] | 1U << bit % 8);
  }
  return standing;
}

std::string complaint(const std::vector<Standing>& standings) {
  auto resume = plan_resume(standings, kWindows, 2);
  return resume ? "" : resume.error().message;
}

TEST(Plan, GoesOnWhereSomebodyLacksAChunk) {
  const std::vector<Standing> standings{
      standing(10, 6, 2, "11110000"), standing(11, 8, 4, "1111010"), standing(10, 7, 3, "1111001")};
  auto resume = plan_resume(standings, kWindows, 7);
  ASSERT_TRUE(resume) << resume.error().message;
  EXPECT_EQ(resume->epoch, 7U);
  EXPECT_EQ(resume->classes[1].start, 6U);
  // Rank 1 has 6, 7 and 9; rank 2 has 6 and 9; nobody has 8.
  EXPECT_THAT(resume->classes[1].providers, ElementsAre(1, 1, kNoMember, 1));
  EXPECT_EQ(resume->classes[0].start, 0U);
  EXPECT_TRUE(resume->classes[0].providers.empty());
}

TEST(Plan, NamesTheRankWhoseAccountCannotBe) {
  EXPECT_THAT(complaint({standing(9, 4, 0, "1111")}), HasSubstr("rank 0"));  // more than W ahead
  EXPECT_THAT(complaint({standing(3, 4, 0, "111")}), HasSubstr("rank 0"));
  EXPECT_THAT(complaint({standing(6, 5, 0, "11111")}), HasSubstr("outside of its window"));
  EXPECT_THAT(complaint({standing(6, 5, 1, "11111111")}), HasSubstr("outside of its window"));
  // A result for which rank 0 had not sent.
  EXPECT_THAT(complaint({standing(4, 4, 0, "1111"), standing(6, 5, 1, "1111")}),
              HasSubstr("rank 1"));
  EXPECT_THAT(complaint({}), HasSubstr("no ranks"));
}

TEST(Ledger, RefusesWhatItCannotDo) {
  Ledger ledger(0, kWindow);
  for (int chunk = 0; chunk < 4; ++chunk) ledger.send({});
  EXPECT_FALSE(ledger.room());
  for (uint64_t chunk = 0; chunk < 2; ++chunk) EXPECT_TRUE(ledger.answer(chunk));
  EXPECT_FALSE(ledger.resume({3, {}}));      // later than what is held
  EXPECT_FALSE(ledger.resume({1, {1, 0}}));  // what it does not have
  EXPECT_FALSE(ledger.resume({0, {1, 1, 1, 1, 1}}));
  ASSERT_TRUE(ledger.resume({1, {0, 1}}));
  EXPECT_FALSE(ledger.settled());
  EXPECT_EQ(ledger.send_again(),
            (ChunkDuty{Collective::gather, 0, PayloadSource::result, false, false}));
  EXPECT_EQ(ledger.send_again(),
            (ChunkDuty{Collective::gather, 1, PayloadSource::none, true, false}));
  EXPECT_EQ(ledger.send_again(),
            (ChunkDuty{Collective::allreduce, 0, PayloadSource::input, true, false}));
  EXPECT_FALSE(ledger.sends_again());
  EXPECT_TRUE(ledger.room());  // 4 follows in the slot of nothing: the epoch began at 1
  EXPECT_FALSE(ledger.answer(1));
  EXPECT_TRUE(ledger.answer(2));
  EXPECT_TRUE(ledger.answer(3));
  EXPECT_TRUE(ledger.settled());
  EXPECT_FALSE(ledger.resume({0, {}}));  // an epoch does not begin before the last one did
}

}  // namespace
}  // namespace sluice::sharp
