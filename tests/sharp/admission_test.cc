// SPDX-License-Identifier: Apache-2.0
// Who gets into a node, who does not, and what strangers can do to it: nothing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <thread>

#include "tests/sharp/group_rig.h"

namespace sluice::sharp {
namespace {

using testing::ask_to_join;
using ::testing::HasSubstr;
using testing::JoiningPeer;
using testing::RecordedLog;
using testing::small_shape;

class Admission : public ::testing::Test {
 protected:
  Join join_of(int group, int members, uint16_t rank) {
    Join join;
    join.shape = small_shape(members);
    join.shape.group[1] = static_cast<uint8_t>(group);
    join.path = {Hop{"memory:1", static_cast<uint16_t>(members), rank}};
    join.ranks = {{rank, 1}};
    join.host = format_text("host%u", unsigned{rank});
    return join;
  }
  std::unique_ptr<JoiningPeer> ask(AggregationNode& node, const Join& join) {
    auto peer = ask_to_join(node, join);
    settle(node, {peer.get()});
    return peer;
  }
  void settle(AggregationNode& node, const std::vector<JoiningPeer*>& peers) {
    for (int round = 0; round < 5; ++round) {
      node.activate_all();
      node.step();
      node.tidy();
      for (JoiningPeer* peer : peers) peer->drive();
    }
  }

  RecordedLog log_;
  testing::NoParents no_parents_;
};

TEST_F(Admission, FullNodeSaysHowFull) {
  NodeLimits limits;
  limits.max_groups = 2;
  AggregationNode node(log_.logger(), limits, no_parents_);
  const auto first = ask(node, join_of(1, 2, 0));
  const auto second = ask(node, join_of(2, 2, 0));
  EXPECT_TRUE(first->slots && second->slots);
  EXPECT_EQ(ask(node, join_of(3, 2, 0))->refusal, "is full: 2 of 2 groups");
  EXPECT_TRUE(ask(node, join_of(1, 2, 1))->is_in()) << "a forming group's members still come in";
}

TEST_F(Admission, MemoryIsBoundedAndTheUserNamed) {
  NodeLimits limits;
  limits.memory = 20000;
  limits.memory_reserved = 20000;
  AggregationNode node(log_.logger(), limits, no_parents_);
  const auto first = ask(node, join_of(1, 8, 0));
  EXPECT_TRUE(first->slots);
  EXPECT_LE(node.statistics().reserved_memory, limits.memory);
  const auto second = ask(node, join_of(2, 8, 0));
  EXPECT_THAT(second->refusal,
              HasSubstr("is full: 0.0 MiB are needed, 0.0 of 0.0 MiB are reserved"));
  EXPECT_THAT(second->refusal, HasSubstr("of 8 ranks, first from host0"));
}

TEST_F(Admission, MembersMustFitEachOther) {
  NodeLimits limits;
  limits.max_members = 16;
  AggregationNode node(log_.logger(), limits, no_parents_);
  EXPECT_THAT(ask(node, join_of(1, 17, 0))->refusal, HasSubstr("takes groups of up to 16 ranks"));
  const auto first = ask(node, join_of(2, 3, 0));
  EXPECT_THAT(ask(node, join_of(2, 3, 0))->refusal,
              HasSubstr("has child 0 already, rank 0 (host0)"));
  Join other = join_of(2, 3, 1);
  other.shape.chunk_bytes = 512;
  EXPECT_THAT(ask(node, other)->refusal, HasSubstr("another shape of the group from rank 1"));
  EXPECT_THAT(ask(node, join_of(3, 3, 3))->refusal,
              HasSubstr("takes 1 to 64 children, not child 3 of 3"));
  Join wild = join_of(4, 3, 0);
  wild.shape.window = 5000;
  EXPECT_THAT(ask(node, wild)->refusal, HasSubstr("a window has 1 to 1024 chunks"));
  EXPECT_EQ(node.statistics().groups, 1u);
}

TEST_F(Admission, AGroupThatIsNeverCompleteIsFreed) {
  NodeLimits limits;
  limits.join_timeout = std::chrono::milliseconds(50);
  AggregationNode node(log_.logger(), limits, no_parents_);
  const auto peer = ask(node, join_of(1, 3, 1));
  std::this_thread::sleep_for(std::chrono::milliseconds(60));
  settle(node, {peer.get()});
  EXPECT_EQ(peer->group_error, "the group was not complete within 0.05 s: no join from rank 0, 2");
  peer->connection.reset();
  peer->lost = "closed by the test";
  settle(node, {});
  EXPECT_EQ(node.statistics().reserved_memory, 0u);
}

TEST_F(Admission, ALostMemberOfAFormingGroupEndsIt) {
  AggregationNode node(log_.logger(), {}, no_parents_);
  const auto first = ask(node, join_of(1, 3, 0));
  auto second = ask(node, join_of(1, 3, 1));
  second.reset();
  settle(node, {first.get()});
  EXPECT_THAT(first->group_error, HasSubstr("rank 1 (host1) was lost: "));
  const auto late = ask(node, join_of(1, 3, 2));
  EXPECT_EQ(late->refusal, "has ended this group already");
}

TEST_F(Admission, ALostMemberOfARunningGroupEndsIt) {
  AggregationNode node(log_.logger(), {}, no_parents_);
  const auto first = ask(node, join_of(1, 2, 0));
  auto second = ask(node, join_of(1, 2, 1));
  EXPECT_TRUE(log_.contains("of 2 ranks, first from host0 formed")) << log_.all();
  second.reset();
  settle(node, {first.get()});
  EXPECT_THAT(first->group_error, HasSubstr("rank 1 (host1) was lost: "));
}

TEST_F(Admission, GarbageCostsOnlyItsOwnConnection) {
  AggregationNode node(log_.logger(), {}, no_parents_);
  const auto member = ask(node, join_of(1, 2, 0));
  std::mt19937 random(5);
  for (int round = 0; round < 200; ++round) {
    testing::MemoryPair pair = testing::make_memory_pair();
    node.adopt(std::move(pair.second));
    JoiningPeer stranger(std::move(pair.first));
    std::vector<std::byte> bytes(random() % 200);
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
    if (round % 3 == 1) bytes = encode(Leave{0});
    if (round % 3 == 2) {
      const auto header = encode(ChunkHeader{});
      bytes.assign(header.begin(), header.end());
    }
    ASSERT_TRUE(stranger.connection->send_message(bytes, {}));
    settle(node, {&stranger});
    EXPECT_FALSE(stranger.lost.empty());
  }
  EXPECT_EQ(node.statistics().children, 1u);
  const auto second = ask(node, join_of(1, 2, 1));
  EXPECT_TRUE(second->is_in() && member->group_error.empty());
  EXPECT_TRUE(log_.contains("which is no member")) << log_.all();
}

// A member that breaks the rules costs its group, and the others hear why.
TEST_F(Admission, ChunksOfTheWrongGroupOrPlaceAreNotReduced) {
  AggregationNode node(log_.logger(), {}, no_parents_);
  const auto victim = ask(node, join_of(1, 2, 0));
  const auto offender = ask(node, join_of(1, 2, 1));
  ChunkHeader header;
  header.traffic_class = TrafficClass::latency;
  header.group = join_of(1, 2, 1).shape.group;
  header.epoch = 1;
  header.child = 0;  // somebody else's
  header.bytes = 4;
  header.operation_bytes = 4;
  const std::byte payload[4] = {};
  ASSERT_TRUE(offender->connection->send_message(encode(header), payload));
  settle(node, {victim.get(), offender.get()});
  EXPECT_EQ(victim->group_error, "rank 1 sent a chunk of another group, epoch or child");
  EXPECT_EQ(offender->group_error, victim->group_error);
}

}  // namespace
}  // namespace sluice::sharp
