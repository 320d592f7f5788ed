// SPDX-License-Identifier: Apache-2.0
// The ring's steps, played for all ranks at once with queues in the place of a plugin.
#include "perf/driver/ring_schedule.h"

#include <gtest/gtest.h>

#include <deque>
#include <numeric>

namespace sluice::perf {
namespace {

using Values = std::vector<long>;

struct Shape {
  int ranks;
  size_t count;
};

class Ring : public testing::TestWithParam<Shape> {
 protected:
  RingShape shape_of(int rank) const {
    return {GetParam().ranks, rank, GetParam().count, 16, 4, 4};
  }
};

TEST_P(Ring, LeavesTheSumOnEveryRank) {
  const auto ranks = static_cast<size_t>(GetParam().ranks);
  const size_t count = GetParam().count;
  std::vector<std::vector<RingStep>> steps(ranks);
  std::vector<Values> input(ranks), output(ranks, Values(count, -1));
  for (size_t rank = 0; rank < ranks; ++rank) {
    steps[rank] = ring_steps(shape_of(static_cast<int>(rank)));
    for (size_t index = 0; index < count; ++index) {
      input[rank].push_back(static_cast<long>((rank + 1) * 1000 + index * 7));
    }
  }
  std::vector<std::deque<Values>> wire(ranks);  // towards that rank
  std::vector<size_t> next(ranks);
  for (bool moved = true; moved;) {
    moved = false;
    for (size_t rank = 0; rank < ranks; ++rank) {
      if (next[rank] == steps[rank].size()) continue;
      const RingStep& step = steps[rank][next[rank]];
      if (step.receives && wire[rank].empty()) continue;
      Values outcome(input[rank].begin() + static_cast<long>(step.first),
                     input[rank].begin() + static_cast<long>(step.first + step.count));
      if (step.receives) {
        const Values received = wire[rank].front();
        wire[rank].pop_front();
        ASSERT_EQ(received.size(), step.count) << "sender and receiver cut differently";
        for (size_t index = 0; index < step.count; ++index) {
          outcome[index] = step.reduces ? outcome[index] + received[index] : received[index];
        }
      }
      if (step.stores)
        std::copy(outcome.begin(), outcome.end(),
                  output[rank].begin() + static_cast<long>(step.first));
      if (step.sends) wire[(rank + 1) % ranks].push_back(outcome);
      ++next[rank];
      moved = true;
    }
  }
  for (size_t rank = 0; rank < ranks; ++rank) {
    ASSERT_EQ(next[rank], steps[rank].size()) << "rank " << rank << " waits for ever";
    EXPECT_TRUE(wire[rank].empty());
    for (size_t index = 0; index < count; ++index) {
      const auto n = static_cast<long>(ranks);
      ASSERT_EQ(output[rank][index], n * (n + 1) / 2 * 1000 + n * static_cast<long>(index) * 7)
          << "rank " << rank << " element " << index;
    }
  }
}

TEST_P(Ring, SendsWhatARingMustSend) {
  size_t sent = 0;
  for (int rank = 0; rank < GetParam().ranks; ++rank) {
    for (const RingStep& step : ring_steps(shape_of(rank))) {
      sent += step.sends ? step.count : 0;
      EXPECT_LE(step.count, 16u);
      EXPECT_GT(step.count, 0u);
    }
  }
  EXPECT_EQ(sent, 2 * (static_cast<size_t>(GetParam().ranks) - 1) * GetParam().count);
}

std::vector<Shape> shapes() {
  std::vector<Shape> shapes;
  for (const int ranks : {2, 3, 5, 8, 64}) {
    for (const size_t count : {0, 1, 2, 7, 64, 129, 1000, 5003}) shapes.push_back({ranks, count});
  }
  return shapes;
}

INSTANTIATE_TEST_SUITE_P(All, Ring, testing::ValuesIn(shapes()), [](const auto& tested) {
  return std::to_string(tested.param.ranks) + "_" + std::to_string(tested.param.count);
});

}  // namespace
}  // namespace sluice::perf
