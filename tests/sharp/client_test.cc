// SPDX-License-Identifier: Apache-2.0
// Allreduce through a real node over real transports: right sums, same bits, many in flight.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <random>
#include <tuple>

#include "tests/sharp/cluster.h"
#include "tests/sharp/vectors.h"

namespace sluice::sharp {
namespace {

using testing::Cluster;
using testing::expected_of;
using ::testing::HasSubstr;
using testing::NodeThread;
using testing::Rank;
using testing::Share;
using transport::TransportChoice;

ClientSettings settings_for(const NodeThread& node) {
  ClientSettings settings;
  settings.trees = {node.address()};
  return settings;
}

transport::Settings over(TransportChoice choice) {
  transport::Settings settings;
  settings.choice = choice;
  return settings;
}

using Case = std::tuple<TransportChoice, int>;

class Allreduce : public ::testing::TestWithParam<Case> {
 protected:
  Allreduce()
      : node(std::get<0>(GetParam())),
        cluster(std::get<1>(GetParam()), over(std::get<0>(GetParam()))) {}

  void connect(const ClientSettings& settings) {
    cluster.connect(settings);
    for (int rank = 0; rank < cluster.size(); ++rank) {
      ASSERT_TRUE(cluster[rank].client) << cluster[rank].client.error().message;
    }
  }

  NodeThread node;
  Cluster cluster;
};

void run_one(Rank& rank, DataType type, ReduceOperator reduce_operator, size_t count, uint32_t seed,
             const testing::Bytes& expected) {
  Share share(type, reduce_operator, count, rank.rank, seed, seed % 2 == 0);
  Client& client = **rank.client;
  auto send =
      client.register_memory(share.send.data(), share.send.size(), transport::MemoryType::host);
  ASSERT_TRUE(send) << send.error().message;
  auto arguments = share.arguments();
  arguments.send_region = send->get();
  if (share.in_place) arguments.receive_region = send->get();
  const auto operation = client.allreduce(arguments);
  ASSERT_TRUE(operation && *operation != nullptr);
  const Status status = testing::wait_for(client, **operation);
  ASSERT_TRUE(status) << status.error().message;
  ASSERT_EQ(share.result(), expected) << name_of(type) << " " << count;
}

TEST_P(Allreduce, TypesOperatorsAndSizes) {
  connect(settings_for(node));
  EXPECT_THAT((*cluster[0].client)->description(),
              HasSubstr(format_text("on: %d ranks, node 127.0.0.1:", cluster.size())));
  struct Call {
    DataType type;
    ReduceOperator reduce_operator;
    size_t count;
    testing::Bytes expected;
  };
  std::vector<Call> calls;
  for (const DataType type : testing::kAllTypes) {
    for (const ReduceOperator reduce_operator : testing::kAllOperators) {
      const size_t counts[] = {1, 4096 / size_of(type), 40000 + calls.size() * 17};
      const size_t count = counts[calls.size() % 3];
      calls.push_back({type, reduce_operator, count,
                       expected_of(type, reduce_operator, count, cluster.size(),
                                   static_cast<uint32_t>(calls.size()))});
    }
  }
  cluster.each([&](Rank& rank) {
    for (uint32_t at = 0; at < calls.size(); ++at) {
      const Call& call = calls[at];
      run_one(rank, call.type, call.reduce_operator, call.count, at, call.expected);
    }
  });
}

TEST_P(Allreduce, AFewMegabytesWithAnOddEnd) {
  connect(settings_for(node));
  const size_t count = (2 << 20) / sizeof(float) + 3;
  const auto expected =
      expected_of(DataType::float32, ReduceOperator::sum, count, cluster.size(), 4);
  cluster.each([&](Rank& rank) {
    run_one(rank, DataType::float32, ReduceOperator::sum, count, 4, expected);
  });
}

TEST_P(Allreduce, ManyInFlightWhileRanksDrift) {
  ClientSettings settings = settings_for(node);
  settings.chunk_bytes = 4096;
  settings.window = 4;
  connect(settings);
  constexpr size_t kCalls = 200;
  std::mt19937 random(17);
  std::vector<std::pair<DataType, size_t>> calls;
  std::vector<testing::Bytes> expected;
  for (uint32_t call = 0; call < kCalls; ++call) {
    const size_t most = random() % 2 == 0 ? 500 : 10000;
    calls.emplace_back(testing::kAllTypes[random() % 10], random() % most + 1);
    expected.push_back(expected_of(calls.back().first, ReduceOperator::max, calls.back().second,
                                   cluster.size(), call));
  }
  cluster.each([&](Rank& rank) {
    std::mt19937 own(static_cast<uint32_t>(rank.rank));
    Client& client = **rank.client;
    std::deque<std::pair<size_t, Operation*>> flying;
    std::deque<Share> shares;
    const Deadline deadline = Deadline::after(std::chrono::seconds(100));
    size_t next = 0;
    while (next < calls.size() || !flying.empty()) {
      ASSERT_FALSE(deadline.passed()) << "rank " << rank.rank << " is stuck at " << next;
      if (own() % 20 == 0) std::this_thread::sleep_for(std::chrono::microseconds(own() % 2000));
      if (next < calls.size() && flying.size() < 64) {
        shares.emplace_back(calls[next].first, ReduceOperator::max, calls[next].second, rank.rank,
                            static_cast<uint32_t>(next), next % 2 == 0);
        const auto operation = client.allreduce(shares.back().arguments());
        ASSERT_TRUE(operation && *operation != nullptr);
        flying.emplace_back(next++, *operation);
      }
      const size_t at = own() % flying.size();
      const auto done = client.test(*flying[at].second, nullptr);
      ASSERT_TRUE(done) << done.error().message;
      if (!*done) continue;
      const size_t call = flying[at].first;
      ASSERT_EQ(shares[call].result(), expected[call]) << call;
      flying.erase(flying.begin() + static_cast<std::ptrdiff_t>(at));
    }
  });
}

std::string case_name(const ::testing::TestParamInfo<Case>& info) {
  return std::string(std::get<0>(info.param) == TransportChoice::tcp ? "tcp" : "shm") + "_" +
         std::to_string(std::get<1>(info.param));
}

INSTANTIATE_TEST_SUITE_P(Real, Allreduce,
                         ::testing::Combine(::testing::Values(TransportChoice::tcp,
                                                              TransportChoice::shm),
                                            ::testing::Values(1, 2, 3, 5, 8, 16)),
                         case_name);

TEST(Client, TwoGroupsAtOnceOnOneNode) {
  NodeThread node;
  Cluster first(3);
  Cluster second(2);
  std::thread other([&] { second.connect(settings_for(node)); });
  first.connect(settings_for(node));
  other.join();
  const auto run = [](Cluster& cluster, uint32_t seed) {
    const auto expected =
        expected_of(DataType::int32, ReduceOperator::sum, 50000, cluster.size(), seed);
    cluster.each([&](Rank& rank) {
      ASSERT_TRUE(rank.client) << rank.client.error().message;
      for (int at = 0; at < 5; ++at) {
        run_one(rank, DataType::int32, ReduceOperator::sum, 50000, seed, expected);
      }
    });
  };
  std::thread concurrent([&] { run(second, 8); });
  run(first, 7);
  concurrent.join();
}

}  // namespace
}  // namespace sluice::sharp
