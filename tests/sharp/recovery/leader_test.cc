// SPDX-License-Identifier: Apache-2.0
// Rank 0's state machine: what it orders, in every phase, whatever happens.
#include "sharp/client/recovery/leader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

namespace sluice::sharp {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;

constexpr uint16_t kRanks = 4;

class FakeSource final : public TreeSource {
 public:
  void request(const TreeRequest& asked) override {
    ++requests;
    last = asked;
  }
  Result<std::optional<TreeOffer>> poll() override {
    if (!refusal.empty()) return fail(ErrorKind::refused, refusal);
    return std::exchange(offer, std::nullopt);
  }
  std::string revoked() override { return std::exchange(revocation, {}); }
  bool worth_asking() override { return worth; }

  int requests = 0;
  TreeRequest last;
  std::string refusal;
  std::optional<TreeOffer> offer;
  std::string revocation;
  bool worth = false;
};

// root(a: 0 1, b: 2 3)
Tree two_leaves(const std::string& suffix = "") {
  Tree tree;
  tree.nodes = {{"root:1" + suffix, kNoParent}, {"leafa:1" + suffix, 0}, {"leafb:1" + suffix, 0}};
  tree.leaf_of_rank = {1, 1, 2, 2};
  return tree;
}

GroupShape shape() {
  GroupShape shape;
  shape.epoch = 1;
  shape.members = kRanks;
  shape.chunk_bytes = 4096;
  shape.window = 4;
  shape.latency_bytes = 64;
  shape.latency_window = 8;
  return shape;
}

class LeaderTest : public ::testing::Test {
 protected:
  LeaderTest() : leader_({shape(), two_leaves(), {"h0", "h1", "h2", "h3"}, {}, "job"}, &source_) {}

  // Takes the orders, by rank.
  template <typename T>
  std::map<uint16_t, T> orders() {
    std::map<uint16_t, T> found;
    for (auto& each : leader_.take_orders()) {
      const T* command = std::get_if<T>(&each.command);
      EXPECT_NE(command, nullptr) << "another command, index " << each.command.index();
      if (command != nullptr) found[each.rank] = *command;
    }
    return found;
  }
  std::string fatal() {
    const auto all = orders<Fatal>();
    EXPECT_EQ(all.size(), kRanks);
    EXPECT_TRUE(leader_.ended());
    return all.empty() ? "" : all.begin()->second.sentence;
  }
  void break_tree(uint16_t rank = 2) {
    leader_.on_trouble(rank, {leader_.epoch(), kNoMember, "node leafb:1 is gone"}, now_);
  }
  void stand(uint16_t rank, const std::string& hosted) {
    Standing standing;
    standing.epoch = leader_.epoch();
    standing.hosted = hosted;
    leader_.on_standing(rank, standing, now_);
  }
  void all_stand() {
    for (uint16_t rank = 0; rank < kRanks; ++rank)
      stand(rank, "host" + std::to_string(rank) + ":9");
  }
  void all_ready(uint32_t epoch) {
    for (uint16_t rank = 0; rank < kRanks; ++rank) leader_.on_ready(rank, {epoch, 1, ""}, now_);
  }
  // To the substitute.
  void recover() {
    break_tree();
    leader_.take_orders();
    all_stand();
    const auto prepare = orders<Prepare>();
    ASSERT_EQ(prepare.size(), kRanks);
    all_ready(prepare.at(0).shape.epoch);
    EXPECT_EQ(orders<Resume>().size(), kRanks);
    EXPECT_TRUE(leader_.on_substitute());
    leader_.take_notices();
  }
  void pass(Duration time) {
    now_ += time;
    leader_.tick(now_);
  }
  std::string notices() {
    std::string text;
    for (const auto& each : leader_.take_notices()) text += each.text + "\n";
    return text;
  }

  FakeSource source_;
  Leader leader_;
  TimePoint now_{std::chrono::hours(1)};
};

TEST_F(LeaderTest, ABrokenTreeIsReplacedByItsRanks) {
  break_tree();
  const auto pauses = orders<Pause>();
  ASSERT_EQ(pauses.size(), kRanks);
  int hosts = 0;
  for (const auto& [rank, pause] : pauses) hosts += pause.host_nodes;
  EXPECT_EQ(hosts, 3);
  EXPECT_EQ(pauses.at(0).host_nodes, 1);
  EXPECT_EQ(pauses.at(0).epoch, 1U);
  all_stand();
  const auto prepares = orders<Prepare>();
  ASSERT_EQ(prepares.size(), kRanks);
  EXPECT_EQ(prepares.at(3).shape.epoch, 2U);
  const Path path = prepares.at(3).path;
  ASSERT_EQ(path.size(), 2U);
  EXPECT_THAT(path[0].node, HasSubstr("host2"));
  EXPECT_EQ(path[0].child, 1);
  EXPECT_EQ(path[1].child, 1);
  all_ready(2);
  const auto resumes = orders<Resume>();
  ASSERT_EQ(resumes.size(), kRanks);
  EXPECT_EQ(resumes.at(1).epoch, 2U);
  EXPECT_EQ(leader_.epoch(), 2U);
  EXPECT_TRUE(leader_.steady());
  EXPECT_THAT(notices(), HasSubstr("node leafb:1 is gone"));
}

TEST_F(LeaderTest, TroubleOfAnEpochThatIsOverIsNone) {
  recover();
  leader_.on_trouble(1, {1, kNoMember, "late"}, now_);
  EXPECT_TRUE(leader_.take_orders().empty());
}

TEST_F(LeaderTest, TroubleIsTakenOnceForAllRanks) {
  break_tree(2);
  EXPECT_EQ(orders<Pause>().size(), kRanks);
  break_tree(3);
  EXPECT_TRUE(leader_.take_orders().empty());
}

TEST_F(LeaderTest, ALostRankIsTheEndInEveryPhase) {
  for (int phase = 0; phase < 3; ++phase) {
    Leader leader({shape(), two_leaves(), {"h0", "h1", "h2", "h3"}, {}, "job"}, nullptr);
    if (phase > 0) leader.on_trouble(0, {1, kNoMember, "gone"}, now_);
    for (uint16_t rank = 0; phase > 1 && rank < kRanks; ++rank) {
      Standing standing;
      standing.epoch = 1;
      standing.hosted = "h:1";
      leader.on_standing(rank, standing, now_);
    }
    leader.take_orders();
    leader.on_lost(3, "killed");
    const auto orders = leader.take_orders();
    ASSERT_EQ(orders.size(), kRanks);
    EXPECT_EQ(std::get<Fatal>(orders[0].command).sentence, "rank 3 (h3) was lost: killed");
    EXPECT_TRUE(leader.ended());
  }
}

TEST_F(LeaderTest, ABlamedRankThatIsLostIsTheReason) {
  leader_.on_trouble(0, {1, 3, "node leafb:1 ended the group: rank 3 was lost"}, now_);
  EXPECT_TRUE(leader_.take_orders().empty());
  leader_.on_lost(3, "killed");
  EXPECT_THAT(fatal(), HasSubstr("rank 3 (h3) was lost"));
}

TEST_F(LeaderTest, ABlamedRankThatLivesIsTakenAlong) {
  leader_.on_trouble(0, {1, 3, "node leafb:1 ended the group: rank 3 was lost"}, now_);
  EXPECT_LE(leader_.wake_at(now_), now_ + milliseconds(500));
  pass(milliseconds(500));
  EXPECT_EQ(orders<Pause>().size(), kRanks);
}

TEST_F(LeaderTest, SilentRanksAreNamed) {
  break_tree();
  leader_.take_orders();
  stand(0, "h:1");
  stand(2, "h:1");
  pass(std::chrono::seconds(11));
  const std::string sentence = fatal();
  EXPECT_THAT(sentence, HasSubstr("rank 1 (h1), rank 3 (h3)"));
}

TEST_F(LeaderTest, ARankThatCannotHostEndsIt) {
  break_tree();
  leader_.take_orders();
  for (uint16_t rank = 0; rank < kRanks; ++rank) stand(rank, rank == 0 ? "" : "h:1");
  EXPECT_THAT(fatal(), HasSubstr("rank 0 (h0) cannot host a node"));
}

TEST_F(LeaderTest, ASubstituteIsTriedThreeTimes) {
  break_tree();
  leader_.take_orders();
  all_stand();
  for (uint32_t epoch = 2; epoch < 5; ++epoch) {
    ASSERT_EQ(orders<Prepare>().at(0).shape.epoch, epoch);
    leader_.on_ready(1, {epoch - 1, 1, ""}, now_);  // of an attempt before: nothing
    leader_.on_ready(1, {epoch, 0, "no way"}, now_);
  }
  EXPECT_THAT(fatal(), HasSubstr("rank 1 (h1): no way"));
}

TEST_F(LeaderTest, SubstitutesThatBreakWithoutProgressEndIt) {
  recover();
  for (int round = 0; round < 2; ++round) {
    break_tree(0);
    leader_.take_orders();
    all_stand();
    all_ready(orders<Prepare>().at(0).shape.epoch);
    leader_.take_orders();
  }
  break_tree(0);
  EXPECT_THAT(fatal(), HasSubstr("node leafb:1 is gone"));
}

TEST_F(LeaderTest, MovesBackWhenThereIsATreeAgain) {
  recover();
  pass(milliseconds(10));
  EXPECT_EQ(source_.requests, 0);
  source_.worth = true;
  pass(milliseconds(10));
  EXPECT_EQ(source_.requests, 1);
  EXPECT_THAT(source_.last.avoid, ::testing::ElementsAre("leafb:1"));
  source_.offer = TreeOffer{two_leaves(".new"), 4, "token", "the test"};
  pass(milliseconds(10));
  const auto prepares = orders<Prepare>();
  ASSERT_EQ(prepares.size(), kRanks);
  EXPECT_EQ(prepares.at(0).path[0].node, "leafa:1.new");
  EXPECT_EQ(prepares.at(0).token, "token");
  all_ready(prepares.at(0).shape.epoch);
  EXPECT_EQ(orders<Pause>().at(0).host_nodes, 0);
  all_stand();
  EXPECT_EQ(orders<Resume>().size(), kRanks);
  EXPECT_FALSE(leader_.on_substitute());
  EXPECT_THAT(notices(), HasSubstr("results keep their bits"));
}

TEST_F(LeaderTest, SaysThatBitsChangeOnAnotherShape) {
  recover();
  source_.worth = true;
  pass(milliseconds(10));
  Tree flat;
  flat.nodes = {{"one:1", kNoParent}};
  flat.leaf_of_rank = {0, 0, 0, 0};
  source_.offer = TreeOffer{flat, 4, "", "the test"};
  pass(milliseconds(10));
  all_ready(orders<Prepare>().at(0).shape.epoch);
  leader_.take_orders();
  all_stand();
  leader_.take_orders();
  EXPECT_THAT(notices(), HasSubstr("bits of sums of floats change"));
}

TEST_F(LeaderTest, AMoveThatFailsLeavesTheGroupWhereItIs) {
  recover();
  source_.worth = true;
  pass(milliseconds(10));
  source_.offer = TreeOffer{two_leaves(), 4, "", "the test"};
  pass(milliseconds(10));
  const uint32_t epoch = orders<Prepare>().at(0).shape.epoch;
  leader_.on_ready(2, {epoch, 0, "node leafb:1 cannot be reached"}, now_);
  EXPECT_TRUE(leader_.steady());
  EXPECT_TRUE(leader_.on_substitute());
  EXPECT_TRUE(leader_.take_orders().empty());
  const int asked = source_.requests;
  pass(milliseconds(100));
  EXPECT_EQ(source_.requests, asked);  // with patience
  pass(std::chrono::seconds(5));
  EXPECT_EQ(source_.requests, asked + 1);
  EXPECT_TRUE(source_.last.avoid.empty());
}

TEST_F(LeaderTest, ASmallerWindowIsNoTree) {
  recover();
  source_.worth = true;
  pass(milliseconds(10));
  source_.offer = TreeOffer{two_leaves(), 2, "", "the test"};
  pass(milliseconds(10));
  EXPECT_TRUE(leader_.take_orders().empty());
  EXPECT_THAT(notices(), HasSubstr("window is smaller"));
}

TEST_F(LeaderTest, ATreeThatBreaksDuringAMoveIsReplaced) {
  recover();
  source_.worth = true;
  pass(milliseconds(10));
  source_.offer = TreeOffer{two_leaves(), 4, "", "the test"};
  pass(milliseconds(10));
  const uint32_t moving = orders<Prepare>().at(0).shape.epoch;
  break_tree(1);
  EXPECT_EQ(orders<Pause>().size(), kRanks);
  all_ready(moving);  // too late
  EXPECT_TRUE(leader_.take_orders().empty());
  all_stand();
  EXPECT_EQ(orders<Prepare>().at(0).shape.epoch, moving + 1);
}

TEST_F(LeaderTest, ARevokedTreeIsExchangedOrReplaced) {
  source_.revocation = "drained";
  pass(milliseconds(10));
  EXPECT_EQ(source_.requests, 1);
  source_.offer = TreeOffer{two_leaves(".other"), 4, "", "the test"};
  pass(milliseconds(10));
  all_ready(orders<Prepare>().at(0).shape.epoch);
  EXPECT_EQ(orders<Pause>().at(1).host_nodes, 0);
  all_stand();
  EXPECT_EQ(orders<Resume>().size(), kRanks);
  EXPECT_FALSE(leader_.on_substitute());

  source_.revocation = "preempted";
  source_.refusal = "nothing is free";
  pass(milliseconds(10));
  EXPECT_EQ(orders<Pause>().at(0).host_nodes, 1);
  EXPECT_THAT(notices(), HasSubstr("preempted"));
}

TEST_F(LeaderTest, WhoHasClosedIsMissedOnlyWhenTheTreeBreaks) {
  leader_.on_departed(1);
  pass(milliseconds(10));
  EXPECT_TRUE(leader_.take_orders().empty());
  break_tree();
  EXPECT_THAT(fatal(), HasSubstr("rank 1 (h1) had closed"));
}

}  // namespace
}  // namespace sluice::sharp
