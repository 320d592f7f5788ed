// SPDX-License-Identifier: Apache-2.0
// What is said about a fault, from operations that were never run.
#include "perf/sluice-perf/survival.h"

#include <gtest/gtest.h>

namespace sluice::perf {
namespace {

using std::chrono::milliseconds;

// Operations of 1 ms from `begun` on, but one that ends at 1500 ms and took 400, and slower ones
// until 2000 ms.
SurvivalFacts facts_from(TimePoint begun) {
  SurvivalFacts facts;
  facts.begun = begun;
  const auto add = [&](int end_ms, double seconds) {
    facts.operations.push_back({begun + milliseconds(end_ms), seconds});
  };
  for (int end = 1; end <= 1100; ++end) add(end, 0.001);
  add(1500, 0.400);
  for (int end = 1505; end <= 2000; end += 5) add(end, 0.005);
  for (int end = 2001; end <= 4000; ++end) add(end, 0.0015);
  return facts;
}

TEST(Survival, GapAndReturn) {
  auto board = FaultBoard::make();
  ASSERT_TRUE(board);
  EXPECT_FALSE(board->begun());
  board->begin();
  board->note_strike(0);
  ASSERT_TRUE(board->strike(0));
  EXPECT_FALSE(board->restart(0));
  EXPECT_FALSE(board->strike(1));
  const TimePoint struck = *board->strike(0);
  const SurvivalFacts facts = facts_from(struck - milliseconds(1101));
  const FaultOutcome outcome = outcome_of(facts, *board, 0, 1);
  EXPECT_NEAR(outcome.struck, 1.101, 1e-6);
  EXPECT_EQ(outcome.restarted, 0);
  EXPECT_NEAR(outcome.median_us, 1000, 1e-6);
  EXPECT_NEAR(outcome.gap_ms, 400, 1e-6);
  EXPECT_NEAR(outcome.recovered_ms, 900, 1);
  EXPECT_NEAR(outcome.after_us, 1500, 1e-6);
}

TEST(Survival, NeverAsBefore) {
  auto board = FaultBoard::make();
  ASSERT_TRUE(board);
  board->begin();
  board->note_strike(0);
  SurvivalFacts facts = facts_from(*board->strike(0) - milliseconds(1101));
  for (SurvivalOperation& one : facts.operations) {
    if (one.end > *board->strike(0)) one.seconds += 0.010;
  }
  EXPECT_LT(outcome_of(facts, *board, 0, 1).recovered_ms, 0);
}

TEST(Survival, NothingAfterwards) {
  auto board = FaultBoard::make();
  ASSERT_TRUE(board);
  board->begin();
  board->note_strike(0);
  SurvivalFacts facts;
  facts.begun = *board->begun();
  EXPECT_EQ(outcome_of(facts, *board, 0, 1).gap_ms, 0);
}

}  // namespace
}  // namespace sluice::perf
