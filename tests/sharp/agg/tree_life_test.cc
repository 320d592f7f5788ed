// SPDX-License-Identifier: Apache-2.0
// How trees come about and how they end: refusals, losses and errors reach every rank.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "tests/sharp/agg/tree_rig.h"

namespace sluice::sharp {
namespace {

using testing::Bytes;
using testing::Call;
using ::testing::HasSubstr;
using testing::random_input;
using testing::RecordedLog;
using testing::TreeOptions;
using testing::TreeRig;
using testing::WirePeer;

TreeOptions tree_of(const Tree& tree) {
  TreeOptions options;
  options.tree = tree;
  return options;
}

// Nodes are n0 (root), then level by level.
constexpr char kRoot[] = "n0:1";
constexpr char kFirstLeaf[] = "n1:1";

// All ranks were told the same; the sentence.
std::string common_error(const TreeRig& rig, uint16_t member) {
  std::string sentence;
  for (const auto& rank : rig.ranks) {
    if (rank->connection == nullptr || rank->deaf) continue;
    EXPECT_TRUE(rank->group_error) << rank->join.host << " " << rank->lost;
    if (!rank->group_error) continue;
    EXPECT_EQ(rank->group_error->member, member);
    EXPECT_TRUE(sentence.empty() || sentence == rank->group_error->sentence);
    sentence = rank->group_error->sentence;
  }
  return sentence;
}

void steps(TreeRig& rig, int count) {
  for (int at = 0; at < count; ++at) {
    rig.step();
    for (auto& [name, node] : rig.street.nodes()) node->tidy();
  }
}

void post_to(TreeRig& rig, const std::vector<int>& ranks) {
  Call call;
  call.elements = 1000;
  for (const int rank : ranks) {
    rig.ranks[static_cast<size_t>(rank)]->post(call, random_input(call, 1));
  }
}

TEST(TreeLife, NobodyIsInBeforeTheWholeTreeStands) {
  TreeRig rig(tree_of(testing::two_levels(2, 4)));
  for (int at = 0; at < 5; ++at) {  // the second leaf sleeps
    for (const char* node : {kFirstLeaf, kRoot}) {
      rig.street[node].activate_all();
      rig.street[node].step();
    }
    for (const auto& rank : rig.ranks) rank->drive();
  }
  EXPECT_TRUE(rig.ranks[0]->slots && rig.ranks[1]->slots);
  EXPECT_FALSE(rig.ranks[0]->joined || rig.ranks[1]->joined);
  ASSERT_TRUE(rig.settle());
  for (const auto& rank : rig.ranks) EXPECT_TRUE(rank->is_in());
  EXPECT_TRUE(rig.log.contains("formed: 2 children, below node n0:1")) << rig.log.all();
}

TEST(TreeLife, AllLeaveAndNothingIsLeft) {
  TreeRig rig(tree_of(testing::three_levels(2, 4, 8)));
  ASSERT_TRUE(rig.settle());
  post_to(rig, {0, 1, 2, 3, 4, 5, 6, 7});
  ASSERT_TRUE(rig.finish());
  for (const auto& rank : rig.ranks) rank->leave();
  steps(rig, 20);
  for (const auto& [name, node] : rig.street.nodes()) {
    EXPECT_EQ(node->statistics().groups, 0u) << name;
    EXPECT_EQ(node->statistics().children, 0u) << name;
    EXPECT_EQ(node->statistics().reserved_memory, 0u) << name;
  }
  EXPECT_FALSE(rig.log.contains("lost")) << rig.log.all();
}

TEST(TreeLife, TheRootsRefusalReachesEveryRank) {
  TreeOptions options = tree_of(testing::two_levels(2, 4));
  TreeRig rig(options);
  rig.street[kRoot].drain(true);
  ASSERT_TRUE(rig.settle());
  for (const auto& rank : rig.ranks) {
    ASSERT_TRUE(rank->refused);
    EXPECT_EQ(rank->refused->code, RefusalCode::parent);
    EXPECT_EQ(rank->refused->sentence,
              "cannot use its parent: node n0:1 takes no new groups: it is drained");
  }
}

TEST(TreeLife, AParentThatIsNotThereIsARefusal) {
  TreeRig rig(tree_of(testing::two_levels(2, 4)));
  rig.street.close(kRoot);
  ASSERT_TRUE(rig.settle());
  for (const auto& rank : rig.ranks) {
    ASSERT_TRUE(rank->refused);
    EXPECT_EQ(rank->refused->sentence,
              "cannot use its parent: node n0:1 was lost: connection refused");
  }
}

TEST(TreeLife, AParentThatDiesWhileJoiningIsARefusal) {
  TreeRig rig(tree_of(testing::three_levels(1, 1, 2)));
  for (int at = 0; at < 3; ++at) {  // the leaf has called, the inner node sleeps
    rig.street["n2:1"].activate_all();
    rig.street["n2:1"].step();
  }
  rig.street.close("n1:1");
  ASSERT_TRUE(rig.settle());
  for (const auto& rank : rig.ranks) {
    ASSERT_TRUE(rank->refused);
    EXPECT_THAT(rank->refused->sentence, HasSubstr("cannot use its parent: node n1:1 was lost"));
  }
}

class LostParent : public ::testing::TestWithParam<bool> {};

TEST_P(LostParent, EndsTheGroupForAllBelow) {
  TreeRig rig(tree_of(testing::three_levels(2, 4, 8)));
  ASSERT_TRUE(rig.settle());
  if (GetParam()) post_to(rig, {0, 1, 2, 4, 5});  // in the middle of an operation
  steps(rig, 3);
  rig.street.close(kRoot);
  steps(rig, 10);
  EXPECT_THAT(common_error(rig, kNoMember), HasSubstr("node n0:1 was lost: "));
}

INSTANTIATE_TEST_SUITE_P(While, LostParent, ::testing::Bool());

TEST(TreeLife, ALostChildNodeEndsTheGroupForAllOthers) {
  TreeRig rig(tree_of(testing::three_levels(2, 4, 8)));
  ASSERT_TRUE(rig.settle());
  post_to(rig, {0, 2, 4, 6});
  steps(rig, 3);
  rig.street.close("n3:1");  // a leaf
  steps(rig, 10);
  for (const int rank : {0, 1}) {
    EXPECT_FALSE(rig.ranks[static_cast<size_t>(rank)]->lost.empty());
    rig.ranks[static_cast<size_t>(rank)]->deaf = true;
  }
  EXPECT_THAT(common_error(rig, kNoMember), HasSubstr("node n3:1 (ranks 0-1) was lost: "));
}

TEST(TreeLife, ALostRankIsNamedThroughTheWholeTree) {
  TreeRig rig(tree_of(testing::three_levels(2, 4, 8)));
  ASSERT_TRUE(rig.settle());
  post_to(rig, {0, 1, 2, 3, 4, 5});
  steps(rig, 2);
  rig.ranks[6]->connection.reset();
  steps(rig, 10);
  EXPECT_THAT(common_error(rig, 6), HasSubstr("rank 6 (host6) was lost: "));
}

TEST(TreeLife, ARankThatLeavesInTheMiddleIsNamedThroughTheWholeTree) {
  TreeRig rig(tree_of(testing::two_levels(2, 4)));
  ASSERT_TRUE(rig.settle());
  post_to(rig, {0, 1, 2});
  steps(rig, 2);
  rig.ranks[3]->leave();
  steps(rig, 10);
  EXPECT_EQ(common_error(rig, 3), "rank 3 (host3) left in the middle of an operation");
}

TEST(TreeLife, DisagreementBetweenLeavesNamesTheirRanks) {
  TreeRig rig(tree_of(testing::two_levels(2, 4)));
  ASSERT_TRUE(rig.settle());
  Call call;
  call.elements = 64;
  for (const size_t rank : {0, 1}) rig.ranks[rank]->post(call, random_input(call, 1));
  call.type = DataType::int32;
  for (const size_t rank : {2, 3}) rig.ranks[rank]->post(call, random_input(call, 1));
  steps(rig, 10);
  const std::string sentence = common_error(rig, kNoMember);
  EXPECT_THAT(sentence, HasSubstr("the ranks disagree: node n1:1 (ranks 0-1) calls operation 0 of "
                                  "256 bytes of float32 sum"));
  EXPECT_THAT(sentence, HasSubstr("but node n2:1 (ranks 2-3) calls operation 0 of 256 bytes of "
                                  "int32 sum"));
}

TEST(TreeLife, AChunkOfAnotherEpochEndsTheGroupAndIsNotUsed) {
  TreeRig rig(tree_of(testing::two_levels(2, 4)));
  ASSERT_TRUE(rig.settle());
  ChunkHeader header;
  header.traffic_class = TrafficClass::latency;
  header.group = rig.shape.group;
  header.epoch = rig.shape.epoch + 1;
  header.child = rig.ranks[2]->join.child();
  header.bytes = header.payload_bytes = 4;
  header.operation_bytes = 4;
  const std::byte payload[4] = {};
  ASSERT_TRUE(rig.ranks[2]->connection->send_message(encode(header), payload));
  steps(rig, 10);
  EXPECT_EQ(common_error(rig, 2), "rank 2 sent a chunk of another group, epoch or child");
}

TEST(TreeLife, EpochsOfAGroupStandSideBySide) {
  TreeRig rig(tree_of(testing::flat(2)));
  ASSERT_TRUE(rig.settle());
  Join join = rig.ranks[0]->join;
  join.shape.epoch = 2;
  WirePeer next(rig.street.connect(kRoot), join);
  steps(rig, 3);
  next.drive();
  EXPECT_TRUE(next.slots);
  EXPECT_EQ(rig.street[kRoot].report().groups.size(), 2u);
  post_to(rig, {0, 1});
  EXPECT_TRUE(rig.finish());
}

TEST(TreeLife, TreesThatDoNotFitAreRefused) {
  TreeRig rig(tree_of(testing::two_levels(2, 4)));
  ASSERT_TRUE(rig.settle());
  uint32_t epoch = 9;
  const auto answer_to = [&](auto change) {
    Join join = rig.ranks[0]->join;
    join.shape.epoch = ++epoch;
    WirePeer first(rig.street.connect(kFirstLeaf), join);
    steps(rig, 2);
    join = rig.ranks[1]->join;
    join.shape.epoch = epoch;
    change(join);
    WirePeer second(rig.street.connect(kFirstLeaf), join);
    steps(rig, 2);
    second.drive();
    return second.refused ? second.refused->sentence : "";
  };
  EXPECT_EQ(answer_to([](Join&) {}), "");
  EXPECT_EQ(answer_to([](Join& join) { join.path[1].node = "elsewhere:1"; }),
            "got another tree from rank 1 than from the first child");
  EXPECT_EQ(answer_to([](Join& join) { join.path.pop_back(); }),
            "got another tree from rank 1 than from the first child");
  EXPECT_EQ(answer_to([](Join& join) {
              join.ranks = {{0, 1}};
            }),
            "has some of the ranks of rank 0 already");
  EXPECT_THAT(answer_to([](Join& join) {
                join.ranks = {{7, 1}};
              }),
              HasSubstr("a child is not rank 7 of a group of 4"));
  EXPECT_THAT(answer_to([](Join& join) { join.path.resize(20, join.path[0]); }),
              HasSubstr("a tree has 1 to 8 levels of nodes"));
}

TEST(TreeLife, ALeafThatNeverComesIsNamedByTheRoot) {
  TreeOptions options = tree_of(testing::two_levels(2, 4));
  options.limits.join_timeout = std::chrono::milliseconds(200);
  TreeRig rig(options);
  rig.ranks[2]->deaf = rig.ranks[3]->deaf = true;
  rig.street.close("n2:1");
  steps(rig, 5);
  std::this_thread::sleep_for(std::chrono::milliseconds(250));
  steps(rig, 10);
  EXPECT_EQ(common_error(rig, kNoMember),
            "the group was not complete within 0.2 s: no join from rank 2-3");
}

}  // namespace
}  // namespace sluice::sharp
