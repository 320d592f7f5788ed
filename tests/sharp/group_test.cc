// SPDX-License-Identifier: Apache-2.0
// Groups on a node, deterministic: data, order, disagreement, damage, death.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <random>
#include <string>

#include "tests/sharp/group_rig.h"
#include "tests/sharp/vectors.h"

namespace sluice::sharp {
namespace {

using testing::expected_of;
using testing::GroupRig;
using ::testing::HasSubstr;
using testing::Mischief;
using testing::RigOptions;
using testing::Share;
using testing::small_shape;

RigOptions rig_of(int ranks, double delivery = 1.0) {
  RigOptions options;
  options.shape = small_shape(ranks);
  options.delivery = delivery;
  return options;
}

using Posted = std::vector<std::pair<int, Operation*>>;

Operation* post(GroupRig& rig, int rank, Share& share) {
  auto operation = rig.clients[static_cast<size_t>(rank)]->allreduce(share.arguments());
  EXPECT_TRUE(operation) << operation.error().message;
  return operation.value_or(nullptr);
}

TEST(Group, EveryTypeOperatorAndSize) {
  for (const int ranks : {1, 2, 3, 5, 8, 16}) {
    GroupRig rig(rig_of(ranks));
    uint32_t seed = 0;
    for (const DataType type : testing::kAllTypes) {
      for (const ReduceOperator reduce_operator : testing::kAllOperators) {
        for (const size_t count : {0, 1, 7, 8, 9, 33, 300, 1111}) {
          ++seed;
          std::deque<Share> shares;
          Posted posted;
          for (int rank = 0; rank < ranks; ++rank) {
            shares.emplace_back(type, reduce_operator, count, rank, seed, seed % 2 == 0);
            posted.emplace_back(rank, post(rig, rank, shares.back()));
          }
          const Status status = rig.finish(posted);
          ASSERT_TRUE(status) << status.error().message;
          const auto expected = expected_of(type, reduce_operator, count, ranks, seed);
          for (const Share& share : shares) ASSERT_EQ(share.result(), expected);
        }
      }
    }
  }
}

// Each rank enters its calls when it likes, 64 ahead of a rank that has not begun; writes come in
// any order.
TEST(Group, RanksFarApartWithManyOperationsInFlight) {
  constexpr int kRanks = 5;
  constexpr int kOperations = 300;
  for (const uint32_t seed : {1u, 2u, 3u}) {
    GroupRig rig(rig_of(kRanks, 0.4));
    std::mt19937 random(seed);
    std::vector<std::pair<DataType, size_t>> calls;
    for (int call = 0; call < kOperations; ++call) {
      const size_t most = random() % 3 == 0 ? 900 : 16;
      calls.emplace_back(testing::kAllTypes[random() % 10], random() % most);
    }
    std::vector<std::deque<Share>> shares(kRanks);
    std::vector<std::deque<Operation*>> flying(kRanks);
    std::vector<size_t> next(kRanks);
    size_t finished = 0;
    size_t deepest = 0;
    for (int round = 0; round < 200000 && finished < kRanks * calls.size(); ++round) {
      const auto rank = static_cast<size_t>(random() % kRanks);
      // Rank 0 starts late, when the others have all their 64 calls out.
      const bool may_post = rank != 0 || round > 2000;
      for (int burst = 0;
           may_post && burst < 8 && flying[rank].size() < 64 && next[rank] < calls.size();
           ++burst) {
        const auto& [type, count] = calls[next[rank]];
        shares[rank].emplace_back(type, ReduceOperator::sum, count, static_cast<int>(rank),
                                  static_cast<uint32_t>(next[rank]), next[rank] % 2 == 0);
        flying[rank].push_back(post(rig, static_cast<int>(rank), shares[rank].back()));
        ++next[rank];
      }
      deepest = std::max(deepest, flying[rank].size());
      rig.step();
      if (flying[rank].empty()) continue;
      // NCCL tests its requests in any order as well.
      const size_t at = random() % flying[rank].size();
      const auto done = rig.clients[rank]->test(*flying[rank][at], nullptr);
      ASSERT_TRUE(done) << done.error().message;
      if (!*done) continue;
      flying[rank].erase(flying[rank].begin() + static_cast<std::ptrdiff_t>(at));
      ++finished;
    }
    ASSERT_EQ(finished, kRanks * calls.size());
    EXPECT_EQ(deepest, 64u);
    for (size_t call = 0; call < calls.size(); ++call) {
      const auto& [type, count] = calls[call];
      const auto expected =
          expected_of(type, ReduceOperator::sum, count, kRanks, static_cast<uint32_t>(call));
      for (int rank = 0; rank < kRanks; ++rank) {
        ASSERT_EQ(shares[static_cast<size_t>(rank)][call].result(), expected) << call;
      }
    }
  }
}

TEST(Group, OperationsAreBoundedAndReusable) {
  GroupRig rig(rig_of(2));
  std::deque<Share> shares;
  Posted posted;
  for (uint32_t at = 0; at < kMaxResultWindows; ++at) {
    shares.emplace_back(DataType::int32, ReduceOperator::sum, 100, 0, at);
    posted.emplace_back(0, post(rig, 0, shares.back()));
    ASSERT_NE(posted.back().second, nullptr);
  }
  shares.emplace_back(DataType::int32, ReduceOperator::sum, 100, 0, 999);
  EXPECT_EQ(post(rig, 0, shares.back()), nullptr);
  for (uint32_t at = 0; at < kMaxResultWindows; ++at) {
    shares.emplace_back(DataType::int32, ReduceOperator::sum, 100, 1, at);
    posted.emplace_back(1, post(rig, 1, shares.back()));
  }
  ASSERT_TRUE(rig.finish(posted));
  EXPECT_EQ(&Client::client_of(*posted.back().second), rig.clients[1].get());
}

TEST(Group, WrongArgumentsLeaveTheClientUsable) {
  GroupRig rig(rig_of(1));
  Share share(DataType::int32, ReduceOperator::sum, 4, 0, 1);
  auto arguments = share.arguments();
  arguments.type = static_cast<DataType>(kDataTypes);
  EXPECT_FALSE(rig.clients[0]->allreduce(arguments));
  arguments = share.arguments();
  arguments.receive = nullptr;
  EXPECT_FALSE(rig.clients[0]->allreduce(arguments));
  arguments = share.arguments();
  arguments.count = SIZE_MAX / 2;
  EXPECT_FALSE(rig.clients[0]->allreduce(arguments));
  transport::MemoryRegion region(share.send.data(), 8, transport::MemoryType::host);
  arguments = share.arguments();
  arguments.send_region = &region;
  EXPECT_FALSE(rig.clients[0]->allreduce(arguments));
  EXPECT_TRUE(rig.finish({{0, post(rig, 0, share)}}));
}

// Two ranks that call different things: both are told who called what.
void expect_disagreement(const Share& first, const Share& second, const std::string& text) {
  GroupRig rig(rig_of(2));
  Share a = first;
  Share b = second;
  const Posted posted = {{0, post(rig, 0, a)}, {1, post(rig, 1, b)}};
  std::string sentences[2];
  for (int at = 0; at < 100; ++at) {
    rig.step();
    for (const auto& [rank, operation] : posted) {
      const auto done = rig.clients[static_cast<size_t>(rank)]->test(*operation, nullptr);
      if (!done) sentences[rank] = done.error().message;
    }
  }
  EXPECT_THAT(sentences[0], HasSubstr(text));
  EXPECT_EQ(sentences[0], sentences[1]);
  EXPECT_TRUE(rig.log.contains(text)) << rig.log.all();
  // Sticky: the next call fails alike.
  const auto again = rig.clients[0]->allreduce(a.arguments());
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().message, sentences[0]);
}

TEST(Group, DisagreementNamesRanksAndValues) {
  const Share base(DataType::float32, ReduceOperator::sum, 100, 0, 1);
  expect_disagreement(base, Share(DataType::int32, ReduceOperator::sum, 100, 1, 1),
                      "the ranks disagree: rank 0 calls operation 0 of 400 bytes of float32 sum, "
                      "256 bytes at 0, but rank 1 calls operation 0 of 400 bytes of int32 sum");
  expect_disagreement(base, Share(DataType::float32, ReduceOperator::max, 100, 1, 1),
                      "but rank 1 calls operation 0 of 400 bytes of float32 max");
  expect_disagreement(base, Share(DataType::float32, ReduceOperator::sum, 99, 1, 1),
                      "but rank 1 calls operation 0 of 396 bytes of float32 sum");
  // Of another class: would wait for ever if nobody looked.
  expect_disagreement(base, Share(DataType::float32, ReduceOperator::sum, 3, 1, 1),
                      "of the latency class for rank 1 (12 bytes) and of the other for rank 0");
}

TEST(Group, LeavingInTheMiddleEndsTheGroupForAll) {
  GroupRig rig(rig_of(3));
  Share first(DataType::float32, ReduceOperator::sum, 1000, 0, 1);
  Share second(DataType::float32, ReduceOperator::sum, 1000, 1, 1);
  const Posted posted = {{0, post(rig, 0, first)}, {1, post(rig, 1, second)}};
  rig.step();
  rig.clients[2].reset();
  const Status status = rig.finish(posted);
  ASSERT_FALSE(status);
  EXPECT_THAT(status.error().message, HasSubstr("rank 2 (host2) left in the middle"));
  const auto other = rig.clients[1]->test(*posted[1].second, nullptr);
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().message, status.error().message);
}

TEST(Group, OrderlyEndIsQuietAndReturnsTheMemory) {
  GroupRig rig(rig_of(3));
  std::deque<Share> shares;
  Posted posted;
  for (int rank = 0; rank < 3; ++rank) {
    shares.emplace_back(DataType::float32, ReduceOperator::sum, 500, rank, 1);
    posted.emplace_back(rank, post(rig, rank, shares.back()));
  }
  ASSERT_TRUE(rig.finish(posted));
  EXPECT_GT(rig.node.statistics().reserved_memory, 0u);
  for (auto& client : rig.clients) {
    client.reset();
    rig.step();
  }
  EXPECT_EQ(rig.node.statistics().groups, 0u);
  EXPECT_EQ(rig.node.statistics().reserved_memory, 0u);
  EXPECT_EQ(rig.node.statistics().children, 0u);
  EXPECT_EQ(rig.node.statistics().data.chunks, 8u);
  EXPECT_TRUE(rig.log.contains("ended: all ranks have left")) << rig.log.all();
}

TEST(Group, DamagedResultIsNoticedByTheRank) {
  for (const size_t count : {10, 2000}) {  // both classes
    RigOptions options = rig_of(2);
    options.down.resize(2);
    options.down[1].corrupt = [](std::span<std::byte> payload) { payload[3] ^= std::byte{128}; };
    GroupRig rig(options);
    Share first(DataType::int8, ReduceOperator::sum, count, 0, 1);
    Share second(DataType::int8, ReduceOperator::sum, count, 1, 1);
    post(rig, 0, first);
    const Status status = rig.finish({{1, post(rig, 1, second)}});
    ASSERT_FALSE(status);
    EXPECT_THAT(status.error().message, HasSubstr("damaged 16 times"));
  }
}

}  // namespace
}  // namespace sluice::sharp
