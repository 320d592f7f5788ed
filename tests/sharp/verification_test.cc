// SPDX-License-Identifier: Apache-2.0
// SLUICE_VERIFY: right results pass whatever the type, operator, tree and precision; a node that
// computes wrongly is found and named.
#include <gtest/gtest.h>

#include "tests/sharp/topology.h"

namespace sluice::sharp {
namespace {

using testing::Cluster;
using testing::Rank;
using testing::Share;
using testing::Topology;

ClientSettings verifying(const Topology& topology, Precision precision = Precision::compact) {
  ClientSettings settings;
  settings.trees = topology.trees();
  settings.chunk_bytes = 4096;
  settings.window = 4;
  settings.precision = precision;
  settings.verification = Verification::all;
  return settings;
}

// In place and not, one message and several chunks.
Status verify_all(Rank& rank, DataType type, ReduceOperator reduce_operator) {
  for (uint32_t call = 0; call < 4; ++call) {
    Share share(type, reduce_operator, call % 2 == 0 ? 50 : 3000, rank.rank, call, call < 2);
    const auto operation = (*rank.client)->allreduce(share.arguments());
    if (!operation) return fail(operation.error());
    SLUICE_RETURN_IF_ERROR(testing::wait_for(**rank.client, **operation));
  }
  return {};
}

class Verification : public ::testing::TestWithParam<Precision> {};

TEST_P(Verification, PassesWhatIsRight) {
  Topology topology("r(a,b(c,d))");
  Cluster cluster(6);
  cluster.connect(verifying(topology, GetParam()));
  cluster.each([&](Rank& rank) {
    ASSERT_TRUE(rank.client) << rank.client.error().message;
    for (int type = 0; type < kDataTypes; ++type) {
      for (int op = 0; op < kReduceOperators; ++op) {
        const Status verified =
            verify_all(rank, static_cast<DataType>(type), static_cast<ReduceOperator>(op));
        ASSERT_TRUE(verified) << verified.error().message;
      }
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Both, Verification,
                         ::testing::Values(Precision::compact, Precision::exact),
                         [](const auto& instance) {
                           return instance.param == Precision::exact ? "exact" : "compact";
                         });

#ifdef SLUICE_FAULT_INJECTION

// The node of this number makes a mistake now and then; whoever hears from it says so.
void expect_to_be_named(size_t faulty, uint64_t one_in, size_t elements) {
  Topology topology("r(a,b)", [&](size_t node) {
    NodeLimits limits;
    if (node == faulty) limits.faults.flip_one_bit_in = one_in;
    return limits;
  });
  const std::string name = topology.node(faulty).address().text();
  Cluster cluster(4);
  cluster.connect(verifying(topology));
  cluster.each([&](Rank& rank) {
    ASSERT_TRUE(rank.client) << rank.client.error().message;
    Status status;
    for (uint32_t call = 0; call < 500 && status; ++call) {
      Share share(DataType::int32, ReduceOperator::sum, elements, rank.rank, call);
      const auto operation = (*rank.client)->allreduce(share.arguments());
      status = operation ? testing::wait_for(**rank.client, **operation) : fail(operation.error());
    }
    ASSERT_FALSE(status) << "nobody has noticed";
    EXPECT_NE(status.error().message.find("wrongly"), std::string::npos) << status.error().message;
    EXPECT_NE(status.error().message.find(name), std::string::npos)
        << name << " is not named: " << status.error().message;
  });
}

TEST(FaultyNode, AtTheRootIsNamed) {
  expect_to_be_named(0, 20, 5000);
}

TEST(FaultyNode, AtALeafIsNamed) {
  expect_to_be_named(2, 20, 5000);
}

TEST(FaultyNode, InTheLatencyClassIsNamed) {
  expect_to_be_named(1, 20, 16);
}

#endif  // SLUICE_FAULT_INJECTION

}  // namespace
}  // namespace sluice::sharp
