// SPDX-License-Identifier: Apache-2.0
// Clients of a running manager: trees, denials, how leases end, who must give a tree up.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <fstream>
#include <thread>

#include "tests/manager_daemon/rig.h"

namespace sluice::manager::testing {
namespace {

using ::testing::HasSubstr;

class Leases : public Rig {};

TEST_F(Leases, AClientGetsATreeAndGivesItBack) {
  start_manager();
  const std::string node = start_node("n1");
  auto client = asker("train");
  const auto offer = client->ask();
  ASSERT_TRUE(offer) << offer.error().message;
  ASSERT_EQ(offer->tree.nodes.size(), 1U);
  EXPECT_EQ(offer->tree.nodes[0].address, node);
  EXPECT_EQ(offer->tree.leaf_of_rank.size(), 4U);
  EXPECT_EQ(offer->window, 16U);
  EXPECT_THAT(offer->origin, HasSubstr("manager " + manager() + ", lease "));
  const nlohmann::json jobs = tool({"jobs"});
  ASSERT_EQ(jobs.size(), 1U);
  EXPECT_EQ(jobs[0]["job"], "train");
  EXPECT_EQ(jobs[0]["state"], "tree");
  EXPECT_EQ(jobs[0]["ranks"], 4);
  const nlohmann::json trees = tool({"trees"});
  ASSERT_EQ(trees.size(), 1U);
  EXPECT_EQ(trees[0]["nodes"][0]["ranks"], "0-3");
  client->close();
  EXPECT_TRUE(eventually([&] { return leases() == 0; }));
}

TEST_F(Leases, ATreeOfTwoLevelsFollowsTheFabric) {
  std::ofstream(file("fabric.toml")) << "[[switch]]\nname = \"spine\"\n";
  start_manager({"--fabric", file("fabric.toml")});
  const std::string root = start_node("root", {"--at", "spine"});
  const std::string leaf0 = start_node("n0", {"--serves", "10.1.0.0/24", "--uplink", "spine"});
  const std::string leaf1 = start_node("n1", {"--serves", "10.1.1.0/24", "--uplink", "spine"});
  auto client = asker("train");
  client->request.hosts = {"10.1.0.1", "10.1.0.2", "10.1.1.1", "10.1.1.2"};
  const auto offer = client->ask();
  ASSERT_TRUE(offer) << offer.error().message;
  EXPECT_EQ(offer->tree.text(), root + "(" + leaf0 + " 0-1, " + leaf1 + " 2-3)");
}

TEST_F(Leases, ADenialNamesWhoHoldsWhat) {
  start_manager();
  start_node("n1", {"--max-groups", "1"});
  auto first = asker("holder");
  ASSERT_TRUE(first->ask());
  auto second = asker("late");
  const auto denied = second->ask();
  ASSERT_FALSE(denied);
  EXPECT_EQ(denied.error().kind, ErrorKind::refused);
  EXPECT_THAT(denied.error().message, HasSubstr("grants no tree"));
  EXPECT_THAT(denied.error().message, HasSubstr("holder"));
  first->close();
  EXPECT_TRUE(eventually([&] { return second->ask().has_value(); }));
}

TEST_F(Leases, WithoutNodesAndWithoutAManagerThereAreSentences) {
  start_manager();
  auto client = asker("train");
  const auto denied = client->ask();
  ASSERT_FALSE(denied);
  EXPECT_EQ(denied.error().kind, ErrorKind::refused);
  kill_manager(SIGKILL);
  Asker lonely(manager(), std::chrono::milliseconds(300));
  lonely.request.hosts = {"10.1.0.1"};
  const auto nobody = lonely.ask();
  ASSERT_FALSE(nobody);
  EXPECT_EQ(nobody.error().kind, ErrorKind::timeout);
  EXPECT_THAT(nobody.error().message, HasSubstr("manager " + manager() + " does not answer"));
}

// No node runs the group, so nothing keeps it once its client has died without a word.
TEST_F(Leases, TheDeathOfAClientEndsItsLease) {
  start_manager({"--lease-time", "60s"});
  start_node("n1");
  {
    auto process = sharp::testing::Process::fork([&] {
      auto client = asker("killed");
      if (!client->ask()) return 1;
      std::ofstream(file("asked")) << "yes";
      for (;;) std::this_thread::sleep_for(std::chrono::seconds(1));
    });
    ASSERT_TRUE(eventually([&] { return content_of(file("asked")) == "yes"; }));
    EXPECT_EQ(leases(), 1U);
  }
  EXPECT_TRUE(eventually([&] { return leases() == 0; })) << log();
  EXPECT_THAT(log(), HasSubstr("its client has gone, and its group"));
}

// A client that is connected and never says anything again.
TEST_F(Leases, ALeaseThatNobodyRenewsExpires) {
  start_manager({"--lease-time", "1s"});
  start_node("n1");
  auto silent = asker("silent");
  ASSERT_TRUE(silent->ask());
  auto busy = asker("busy");
  ASSERT_TRUE(busy->ask());
  EXPECT_TRUE(eventually([&] {
    busy->source().revoked();  // drives it
    return log().find("has expired") != std::string::npos;
  }));
  busy->source().revoked();
  const nlohmann::json jobs = tool({"jobs"});
  ASSERT_EQ(jobs.size(), 1U) << jobs;
  EXPECT_EQ(jobs[0]["job"], "busy");
}

TEST_F(Leases, ADrainedNodeIsLeftForAnother) {
  start_manager();
  const std::string first = start_node("n1");
  auto client = asker("train");
  ASSERT_TRUE(client->ask());
  const std::string second = start_node("n2");
  const nlohmann::json outcome = tool({"drain", "n1"});
  ASSERT_TRUE(outcome.is_object());
  EXPECT_EQ(outcome["groups_asked_to_move"], 1);
  EXPECT_EQ(outcome["state"], "draining");
  std::string why;
  EXPECT_TRUE(eventually([&] { return !(why = client->source().revoked()).empty(); }));
  EXPECT_THAT(why, HasSubstr("is drained"));
  ++client->request.epoch;
  const auto offer = client->ask();
  ASSERT_TRUE(offer) << offer.error().message;
  EXPECT_EQ(offer->tree.nodes[0].address, second);
  EXPECT_EQ(client->source().revoked(), "");
  EXPECT_EQ(leases(), 1U);
  EXPECT_TRUE(eventually(
      [&] { return content_of(file("n1.log")).find("no new groups") != std::string::npos; }));
  EXPECT_EQ(tool({"drain", "n1", "--undo"})["state"], "up");
}

TEST_F(Leases, PriorityTakesATreeAndTheLoserMayAskAgain) {
  start_manager();
  start_node("n1", {"--max-groups", "1"});
  auto low = asker("low");
  ASSERT_TRUE(low->ask());
  auto high = asker("high");
  high->request.priority = 5;
  const auto offer = high->ask();
  ASSERT_TRUE(offer) << offer.error().message;
  std::string why;
  EXPECT_TRUE(eventually([&] { return !(why = low->source().revoked()).empty(); }));
  EXPECT_THAT(why, HasSubstr("high"));
  ++low->request.epoch;
  EXPECT_FALSE(low->ask());
  EXPECT_FALSE(low->source().worth_asking());
  high->close();
  // It is told that there is room again, and has not lost its lease meanwhile.
  EXPECT_TRUE(eventually([&] { return low->source().worth_asking(); }));
  ++low->request.epoch;
  const auto again = low->ask();
  EXPECT_TRUE(again) << again.error().message;
  EXPECT_EQ(leases(), 1U);
}

}  // namespace
}  // namespace sluice::manager::testing
