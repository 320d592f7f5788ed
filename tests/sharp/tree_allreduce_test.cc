// SPDX-License-Identifier: Apache-2.0
// Allreduce over trees of real nodes: every type and operator, both precisions, the bits that the
// tree's brackets give.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <tuple>

#include "tests/sharp/topology.h"

namespace sluice::sharp {
namespace {

using testing::Bytes;
using testing::Cluster;
using ::testing::HasSubstr;
using testing::Rank;
using testing::Share;
using testing::Topology;

using Case = std::tuple<const char*, int, Precision>;

class TreeAllreduce : public ::testing::TestWithParam<Case> {};

struct TreeCall {
  DataType type;
  ReduceOperator reduce_operator;
  size_t count;
  Bytes expected;
};

TEST_P(TreeAllreduce, TheBitsOfItsBrackets) {
  const auto& [shape, ranks, precision] = GetParam();
  Topology topology(shape);
  ClientSettings settings;
  settings.trees = topology.trees();
  settings.precision = precision;
  settings.chunk_bytes = 4096;
  settings.window = 4;
  Cluster cluster(ranks);
  cluster.connect(settings);

  const auto brackets = testing::brackets_of(topology.trees().front(), ranks);
  std::vector<TreeCall> calls;
  for (const DataType type : testing::kEveryType) {
    for (const ReduceOperator reduce_operator : testing::kAllOperators) {
      const size_t counts[] = {1, 1000 + calls.size(), 4096 / size_of(type) + 1, 3000};
      const size_t count = counts[calls.size() % std::size(counts)];
      calls.push_back({type, reduce_operator, count,
                       testing::expected_of_tree(brackets, type, reduce_operator, count, ranks,
                                                 static_cast<uint32_t>(calls.size()), precision)});
    }
  }
  cluster.each([&](Rank& rank) {
    ASSERT_TRUE(rank.client) << rank.client.error().message;
    for (uint32_t at = 0; at < calls.size(); ++at) {
      const TreeCall& call = calls[at];
      Share share(call.type, call.reduce_operator, call.count, rank.rank, at, at % 2 == 0);
      const auto operation = (*rank.client)->allreduce(share.arguments());
      ASSERT_TRUE(operation && *operation != nullptr);
      const Status status = testing::wait_for(**rank.client, **operation);
      ASSERT_TRUE(status) << status.error().message;
      ASSERT_EQ(share.result(), call.expected)
          << name_of(call.type) << " " << name_of(call.reduce_operator) << " " << call.count;
    }
  });
}

std::string case_name(const ::testing::TestParamInfo<Case>& info) {
  std::string name = std::get<0>(info.param);
  for (char& character : name) {
    if (std::isalnum(static_cast<unsigned char>(character)) == 0) character = '_';
  }
  return name + std::to_string(std::get<1>(info.param)) +
         (std::get<2>(info.param) == Precision::exact ? "_exact" : "_compact");
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, TreeAllreduce,
    ::testing::Combine(::testing::Values("n", "r(a,b)", "r(m(a,b),n(c))", "r(m(a))"),
                       ::testing::Values(2, 3, 5, 8),
                       ::testing::Values(Precision::compact, Precision::exact)),
    case_name);

TEST(TreeDescription, SaysWhoIsWhere) {
  Topology topology("r(a,b)");
  ClientSettings settings;
  settings.trees = topology.trees();
  Cluster cluster(3);
  cluster.connect(settings);
  for (int rank = 0; rank < 3; ++rank) {
    ASSERT_TRUE(cluster[rank].client) << cluster[rank].client.error().message;
    EXPECT_THAT((*cluster[rank].client)->description(),
                HasSubstr("on: 3 ranks, tree " + topology.node(0).address().text() + "(" +
                          topology.node(1).address().text() + " 0-1, " +
                          topology.node(2).address().text() + " 2) by "));
  }
}

}  // namespace
}  // namespace sluice::sharp
