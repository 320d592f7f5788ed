// SPDX-License-Identifier: Apache-2.0
// Results that are damaged on their way are asked for again and never used.
#include <gtest/gtest.h>

#include "tests/sharp/topology.h"

namespace sluice::sharp {
namespace {

using testing::Cluster;
using testing::Rank;
using testing::Share;
using testing::Topology;

#ifdef SLUICE_FAULT_INJECTION

NodeLimits damaging(uint64_t one_in) {
  NodeLimits limits;
  limits.faults.corrupt_one_in = one_in;
  return limits;
}

ClientSettings settings_for(const Topology& topology) {
  ClientSettings settings;
  settings.trees = topology.trees();
  settings.chunk_bytes = 4096;
  settings.window = 4;
  return settings;
}

// Both classes, in place and not, over a node and over a tree whose nodes damage what they send to
// each other as well.
void expect_right_sums(const char* shape) {
  Topology topology(shape, damaging(5));
  Cluster cluster(4);
  cluster.connect(settings_for(topology));
  constexpr uint32_t kCalls = 40;
  const auto count_of = [](uint32_t call) { return call % 2 == 0 ? 100u : 20000u; };
  std::vector<testing::Bytes> expected;
  for (uint32_t call = 0; call < kCalls; ++call) {
    expected.push_back(testing::expected_of(DataType::int32, ReduceOperator::sum, count_of(call),
                                            cluster.size(), call));
  }
  cluster.each([&](Rank& rank) {
    ASSERT_TRUE(rank.client) << rank.client.error().message;
    for (uint32_t call = 0; call < kCalls; ++call) {
      Share share(DataType::int32, ReduceOperator::sum, count_of(call), rank.rank, call,
                  call % 4 < 2);
      const auto operation = (*rank.client)->allreduce(share.arguments());
      ASSERT_TRUE(operation) << operation.error().message;
      const Status status = testing::wait_for(**rank.client, **operation);
      ASSERT_TRUE(status) << status.error().message;
      ASSERT_EQ(share.result(), expected[call]) << call;
    }
  });
}

TEST(Damage, OfResultsFromANode) {
  expect_right_sums("n");
}

TEST(Damage, InATree) {
  expect_right_sums("r(a,b)");
}

// It is not asked for for ever.
TEST(Damage, OfEveryResultEndsInASentence) {
  Topology topology("n", damaging(1));
  Cluster cluster(2);
  cluster.connect(settings_for(topology));
  cluster.each([&](Rank& rank) {
    ASSERT_TRUE(rank.client) << rank.client.error().message;
    Share share(DataType::float32, ReduceOperator::sum, 3000, rank.rank, 1);
    const auto operation = (*rank.client)->allreduce(share.arguments());
    ASSERT_TRUE(operation) << operation.error().message;
    const Status status = testing::wait_for(**rank.client, **operation);
    ASSERT_FALSE(status);
    EXPECT_NE(status.error().kind, ErrorKind::timeout);
    EXPECT_NE(status.error().message.find("damaged"), std::string::npos) << status.error().message;
  });
}

#endif  // SLUICE_FAULT_INJECTION

}  // namespace
}  // namespace sluice::sharp
