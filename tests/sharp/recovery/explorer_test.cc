// SPDX-License-Identifier: Apache-2.0
// Every order of steps of small groups whose tree dies: no wrong result, no hang, nothing read
// after it was given back. And that the explorer finds what is wrong when a rule is broken.
#include "tests/sharp/recovery/explorer.h"

#include <gtest/gtest.h>

namespace sluice::sharp::testing {
namespace {

ModelOperation allreduce(int chunks, bool in_place) {
  return {std::vector<ModelChunk>(static_cast<size_t>(chunks)), in_place};
}
ModelOperation gather(int ranks, bool in_place) {
  ModelOperation operation{{}, in_place};
  for (int rank = 0; rank < ranks; ++rank) {
    operation.chunks.push_back({Collective::gather, static_cast<uint16_t>(rank)});
  }
  return operation;
}
ModelOperation scatter(int ranks, bool in_place) {
  ModelOperation operation = gather(ranks, in_place);
  for (ModelChunk& chunk : operation.chunks) chunk.collective = Collective::scatter;
  return operation;
}

void expect_right(const char* name, const Scenario& scenario) {
  const Finding finding = explore(scenario);
  EXPECT_EQ(finding.wrong, "") << name;
  std::printf("%-40s %8zu states\n", name, finding.states);
  EXPECT_GT(finding.states, 20U) << name;
}

TEST(RecoveryExplorer, Allreduce) {
  for (const bool in_place : {false, true}) {
    for (const uint32_t window : {1U, 2U}) {
      expect_right("2 ranks, 2 operations, 2 deaths",
                   {2, window, {allreduce(2, in_place), allreduce(2, in_place)}, 2, {}});
    }
  }
  expect_right("3 ranks, window 1", {3, 1, {allreduce(1, true), allreduce(2, true)}, 1, {}});
  expect_right("3 ranks, window 2", {3, 2, {allreduce(1, true), allreduce(1, false)}, 1, {}});
}

TEST(RecoveryExplorer, ThreeRanksTwoDeaths) {
  expect_right("3 ranks, window 1", {3, 1, {allreduce(1, true), allreduce(1, false)}, 2, {}});
  expect_right("3 ranks, window 2", {3, 2, {allreduce(1, true), allreduce(1, true)}, 2, {}});
}

TEST(RecoveryExplorer, Gather) {
  for (const bool in_place : {false, true}) {
    expect_right("2 ranks, window 1", {2, 1, {gather(2, in_place), gather(2, in_place)}, 2, {}});
    expect_right("2 ranks, window 2", {2, 2, {gather(2, in_place), gather(2, in_place)}, 2, {}});
    expect_right("3 ranks, window 2", {3, 2, {gather(3, in_place)}, 1, {}});
  }
}

TEST(RecoveryExplorer, Scatter) {
  for (const bool in_place : {false, true}) {
    expect_right("2 ranks, window 1", {2, 1, {scatter(2, in_place), scatter(2, in_place)}, 2, {}});
    expect_right("2 ranks, window 2", {2, 2, {scatter(2, in_place), scatter(2, in_place)}, 2, {}});
    expect_right("3 ranks, window 2", {3, 2, {scatter(3, in_place)}, 1, {}});
  }
}

TEST(RecoveryExplorer, Mixed) {
  expect_right("2 ranks, window 2",
               {2, 2, {scatter(2, true), allreduce(1, true), gather(2, false)}, 2, {}});
  expect_right("2 ranks, window 1",
               {2, 1, {gather(2, true), allreduce(1, true), scatter(2, false)}, 2, {}});
}

// The explorer can fail: each broken rule is found.
std::string wrong_with(const Rules& rules, uint32_t window, std::vector<ModelOperation> operations,
                       int deaths = 2) {
  return explore({2, window, std::move(operations), deaths, rules}).wrong;
}

TEST(RecoveryExplorerFinds, InputsThatAreNotKept) {
  Rules rules;
  rules.keeps_inputs = false;
  EXPECT_NE(wrong_with(rules, 1, {allreduce(1, true)}), "");
}

TEST(RecoveryExplorerFinds, InputsThatAreReadWhereAResultWasWritten) {
  Rules rules;
  rules.takes_result_as_input = true;
  EXPECT_NE(wrong_with(rules, 1, {allreduce(1, true)}), "");
}

TEST(RecoveryExplorerFinds, InputsOfScattersThatAreNotKept) {
  Rules rules;
  rules.keeps_scatter_inputs = false;
  EXPECT_NE(wrong_with(rules, 2, {scatter(2, false)}), "");
}

TEST(RecoveryExplorerFinds, ResultsThatAreNotKept) {
  Rules rules;
  rules.keeps_results = false;
  EXPECT_NE(wrong_with(rules, 1, {allreduce(1, false), allreduce(1, false)}), "");
}

TEST(RecoveryExplorerFinds, OneResultLessThanTheWindow) {
  Rules rules;
  rules.fewer_results = 1;
  EXPECT_NE(wrong_with(rules, 2, {allreduce(1, false), allreduce(1, false), allreduce(1, false)}),
            "");
}

TEST(RecoveryExplorerFinds, SlotsThatAreFilledTooEarly) {
  Rules rules;
  rules.waits_for_answer = false;
  EXPECT_NE(wrong_with(rules, 1, {allreduce(2, false), allreduce(1, false)}), "");
}

TEST(RecoveryExplorerFinds, ResultsThatNobodyProvides) {
  Rules rules;
  rules.forgets_provider = true;
  EXPECT_NE(wrong_with(rules, 1, {allreduce(1, false), allreduce(1, false)}), "");
}

TEST(RecoveryExplorerFinds, AStartBeyondWhatSomebodyLacks) {
  Rules rules;
  rules.starts_late = true;
  EXPECT_NE(wrong_with(rules, 1, {allreduce(1, false), allreduce(1, false)}), "");
}

}  // namespace
}  // namespace sluice::sharp::testing
