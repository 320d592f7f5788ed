// SPDX-License-Identifier: Apache-2.0
// The manager is killed and started again: with its state, with a damaged one, in mid-run.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <csignal>
#include <fstream>
#include <thread>

#include "tests/manager_daemon/rig.h"
#include "tests/sharp/cluster.h"
#include "tests/sharp/vectors.h"

namespace sluice::manager::testing {
namespace {

using ::testing::HasSubstr;

class Restart : public Rig {};

TEST_F(Restart, LeasesAndDrainsAreKept) {
  start_manager({"--state", file("state")});
  const std::string node = start_node("n1");
  start_node("n2");
  auto client = asker("train");
  ASSERT_TRUE(client->ask());
  ASSERT_TRUE(tool({"drain", "n2"}).is_object());
  const nlohmann::json before = tool({"jobs"});
  kill_manager(SIGKILL);
  start_manager({"--state", file("state")});
  EXPECT_THAT(log(), HasSubstr("1 leases, 1 drained nodes"));
  EXPECT_TRUE(eventually([&] {
    client->source().revoked();
    const nlohmann::json jobs = tool({"jobs"});
    return jobs.size() == 1 && jobs[0]["connected"] == true;
  }));
  const nlohmann::json after = tool({"jobs"});
  ASSERT_EQ(after.size(), 1U);
  for (const char* field : {"job", "lease", "group", "ranks", "nodes", "memory", "state"}) {
    EXPECT_EQ(after[0][field], before[0][field]) << field;
  }
  EXPECT_TRUE(eventually([&] {
    const nlohmann::json row = node_row("n2");
    return row.is_object() && row["state"] == "draining" && row["connected"] == true;
  }));
  client->close();
  EXPECT_TRUE(eventually([&] { return leases() == 0; }));
}

TEST_F(Restart, ADamagedStateIsSaidAndReportsFillIt) {
  start_manager({"--state", file("state")});
  start_node("n1");
  auto client = asker("train");
  ASSERT_TRUE(client->ask());
  kill_manager(SIGKILL);
  std::ofstream(file("state"), std::ios::binary | std::ios::trunc)
      << "this was overwritten by hand";
  start_manager({"--state", file("state")});
  EXPECT_THAT(log(), HasSubstr("does not begin as"));
  EXPECT_THAT(log(), HasSubstr("comes from the nodes' reports"));
  // Its client hears that the lease is gone, and gets another when it asks.
  ++client->request.epoch;
  EXPECT_TRUE(eventually([&] { return client->ask().has_value(); }));
}

// What runs does not notice.
TEST_F(Restart, NoOperationFailsWhileTheManagerIsAway) {
  start_manager({"--state", file("state"), "--lease-time", "2s"});
  start_node("n1");
  constexpr int kRanks = 2;
  sharp::testing::Cluster cluster(kRanks);
  sharp::ClientSettings settings;
  settings.manager = manager();
  settings.job = "train";
  cluster.connect(settings);
  for (int rank = 0; rank < kRanks; ++rank) {
    ASSERT_TRUE(cluster[rank].client) << cluster[rank].client.error().message;
  }
  // Both ranks call the same number of times: rank 0 says in each call whether it is the last.
  std::atomic<bool> ending{false};
  std::atomic<int> rounds{0};
  std::thread run([&] {
    cluster.each([&](sharp::testing::Rank& rank) {
      for (int last = 0; last == 0;) {
        std::vector<int32_t> values(1000, rank.rank == 0 && ending ? 1 : 0);
        std::vector<int32_t> sum(values.size());
        sharp::AllreduceArguments arguments;
        arguments.send = values.data();
        arguments.receive = sum.data();
        arguments.count = values.size();
        arguments.type = sharp::DataType::int32;
        const auto operation = (*rank.client)->allreduce(arguments);
        const Status status = operation ? sharp::testing::wait_for(**rank.client, **operation)
                                        : fail(operation.error());
        EXPECT_TRUE(status) << status.error().message;
        if (!status) return;
        last = sum.back();
        ++rounds;
      }
    });
  });
  const auto goes_on = [&] {
    const int before = rounds;
    return eventually([&] { return rounds > before + 20; });
  };
  EXPECT_TRUE(goes_on());
  const nlohmann::json before = tool({"jobs"});
  kill_manager(SIGKILL);
  EXPECT_TRUE(goes_on());
  start_manager({"--state", file("state"), "--lease-time", "2s"});
  EXPECT_TRUE(eventually([&] {
    const nlohmann::json row = node_row("n1");
    return row.is_object() && row["reported_groups"] == 1;
  }));
  std::this_thread::sleep_for(std::chrono::seconds(3));  // longer than a lease
  EXPECT_TRUE(goes_on());
  const nlohmann::json after = tool({"jobs"});
  ASSERT_EQ(before.size(), 1U);
  ASSERT_EQ(after.size(), 1U) << log();
  EXPECT_EQ(after[0]["lease"], before[0]["lease"]);
  ending = true;
  run.join();
  for (int rank = 0; rank < kRanks; ++rank) (*cluster[rank].client).reset();
  EXPECT_TRUE(eventually([&] { return leases() == 0; })) << log();
}

// Without a fallback a group cannot leave its tree by itself: its node ends it, and says why.
TEST_F(Restart, AGroupThatLosesItsTreeIsEndedByItsNode) {
  start_manager();
  start_node("n1", {"--max-groups", "1"});
  sharp::testing::Cluster cluster(2);
  sharp::ClientSettings settings;
  settings.manager = manager();
  settings.job = "low";
  settings.fallback = false;
  cluster.connect(settings);
  for (int rank = 0; rank < 2; ++rank) {
    ASSERT_TRUE(cluster[rank].client) << cluster[rank].client.error().message;
  }
  EXPECT_TRUE(eventually([&] { return node_row("n1")["reported_groups"] == 1; }));
  auto high = asker("high");
  high->request.priority = 7;
  const auto offer = high->ask();
  ASSERT_TRUE(offer) << offer.error().message;
  EXPECT_TRUE(eventually([&] { return node_row("n1")["reported_groups"] == 0; }));
  EXPECT_THAT(content_of(file("n1.log")), HasSubstr("job of higher priority"));
}

}  // namespace
}  // namespace sluice::manager::testing
