// SPDX-License-Identifier: Apache-2.0
// Groups at work whose nodes and ranks are killed and stopped: nothing comes out wrong, operations
// end, and the group goes back to a tree.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "sharp/agg/embedded_node.h"
#include "tests/sharp/recovery/site.h"
#include "tests/sharp/recovery/workload.h"

namespace sluice::sharp {
namespace {

using std::chrono::milliseconds;
using testing::Cluster;
using ::testing::HasSubstr;
using testing::Site;
using testing::Workload;

transport::Settings transport_settings() {
  transport::Settings settings;
  settings.peer_timeout = std::chrono::seconds(3);
  return settings;
}

ClientSettings client_settings(std::vector<TreeSpec> trees) {
  ClientSettings settings;
  settings.trees = std::move(trees);
  settings.chunk_bytes = 4096;
  settings.window = 8;
  settings.latency_threshold = 1024;
  return settings;
}

void pass(Duration time) {
  std::this_thread::sleep_for(time);
}

class Survival : public ::testing::Test {
 protected:
  static constexpr int kRanks = 4;

  void connect(std::vector<TreeSpec> trees, int ranks = kRanks) {
    cluster_ = std::make_unique<Cluster>(ranks, transport_settings());
    ClientSettings settings = client_settings(std::move(trees));
    settings.node_hosts = hosts_;
    settings.precision = precision_;
    settings.tree_patience = patience_;
    cluster_->connect(settings);
    for (int rank = 0; rank < ranks; ++rank) {
      ASSERT_TRUE((*cluster_)[rank].client) << (*cluster_)[rank].client.error().message;
    }
    work_ = std::make_unique<Workload>(*cluster_, 4);
    work_->start();
    await_operations(14);  // twice each kind, while the tree is whole
  }
  void await_operations(int more) {
    const int from = work_->done();
    for (int at = 0; at < 6000 && work_->done() < from + more; ++at) pass(milliseconds(5));
    EXPECT_GE(work_->done(), from + more) << log();
  }
  // Until rank 0 has logged `text` so many times.
  void await_log(const std::string& text, size_t times) {
    for (int at = 0; at < 6000 && count_in_log(text) < times; ++at) pass(milliseconds(5));
    EXPECT_GE(count_in_log(text), times) << text << " in\n" << log();
  }
  std::string log() { return (*cluster_)[0].log.all(); }
  size_t count_in_log(const std::string& text) {
    const std::string all = log();
    size_t count = 0;
    for (size_t at = all.find(text); at != std::string::npos; at = all.find(text, at + 1)) ++count;
    return count;
  }

  std::shared_ptr<NodeHostFactory> hosts_ = std::make_shared<EmbeddedNodeFactory>();
  Duration patience_ = milliseconds(500);
  Precision precision_ = Precision::compact;
  std::unique_ptr<Cluster> cluster_;
  std::unique_ptr<Workload> work_;
};

TEST_F(Survival, OfTheOnlyNode) {
  Site site(1);
  connect({site.tree(0)});
  for (size_t round = 1; round <= 2; ++round) {
    work_->longest_gap();
    site.kill(0);
    await_operations(30);
    std::printf("longest time without a completed operation: %.1f ms\n", work_->longest_gap());
    EXPECT_EQ(count_in_log("go on among themselves"), round) << log();
    site.start(0);
    await_log("is on a tree again", round);
    await_operations(12);
  }
  EXPECT_EQ(work_->stop(), "") << log();
  EXPECT_THAT(log(), HasSubstr("results keep their bits"));
}

class SurvivalIn : public Survival, public ::testing::WithParamInterface<Precision> {};

TEST_P(SurvivalIn, OfLeafAndRoot) {
  Site site(3);
  precision_ = GetParam();
  connect({site.tree(0, {1, 2})});
  size_t round = 0;
  for (const size_t node : {1U, 0U}) {
    work_->longest_gap();
    site.kill(node);
    await_operations(30);
    std::printf("longest time without a completed operation: %.1f ms\n", work_->longest_gap());
    site.start(node);
    await_log("is on a tree again", ++round);
    await_operations(12);
  }
  EXPECT_EQ(work_->stop(), "") << log();
}

INSTANTIATE_TEST_SUITE_P(Precision, SurvivalIn,
                         ::testing::Values(Precision::compact, Precision::exact),
                         [](const ::testing::TestParamInfo<Precision>& of) {
                           return of.param == Precision::exact ? "exact" : "compact";
                         });

// Any node of the tree that the group is on, or is just moving to, at any moment.
TEST_F(Survival, OfNodesKilledAtAnyMoment) {
  Site site(6);
  patience_ = milliseconds(50);
  connect({site.tree(0, {1, 2}), site.tree(3, {4, 5})});
  std::mt19937 random(4711);
  constexpr int kKills = 30;
  for (int kill = 0; kill < kKills; ++kill) {
    const size_t node = random() % 6;
    site.kill(node);
    pass(milliseconds(random() % 100));
    site.start(node);
    // Usually the group is back before the next one, sometimes it is on its way.
    pass(milliseconds(random() % 200));
  }
  await_operations(12);
  EXPECT_EQ(work_->stop(), "") << log();
  const size_t lost = count_in_log("go on among themselves");
  std::printf(
      "%d operations, %d nodes killed, %zu trees lost, %zu times back; longest time without "
      "a completed operation: %.1f ms\n",
      work_->done(), kKills, lost, count_in_log("is on a tree again"), work_->longest_gap());
  EXPECT_GE(lost, 5U) << log();
}

TEST_F(Survival, OfAGroupOfOne) {
  Site site(1);
  connect({site.tree(0)}, 1);
  site.kill(0);
  await_operations(12);
  EXPECT_EQ(work_->stop(), "") << log();
}

// Nobody calls while the tree dies: the next call finds another.
TEST_F(Survival, OfAnIdleGroup) {
  Site site(1);
  connect({site.tree(0)});
  EXPECT_EQ(work_->stop(), "") << log();
  site.kill(0);
  pass(milliseconds(100));
  Workload again(*cluster_, 2);
  again.start();
  pass(milliseconds(300));
  EXPECT_EQ(again.stop(), "") << log();
  EXPECT_EQ(count_in_log("go on among themselves"), 1U) << log();
}

TEST_F(Survival, AndAHealthyGroupClosesAtOnce) {
  Site site(1);
  connect({site.tree(0)});
  EXPECT_EQ(work_->stop(), "");
  const TimePoint begin = Clock::now();
  for (int rank = 0; rank < kRanks; ++rank) {
    (*cluster_)[rank].client = fail(ErrorKind::internal, "closed");
  }
  EXPECT_LT(in_seconds(Clock::now() - begin), 2.0);  // each would linger for a second
  EXPECT_EQ(count_in_log("in-network reduction"), 0U) << log();
}

// Without nodes in the ranks a lost tree is the end, for all and with its reason.
TEST_F(Survival, NeedsNodesInTheRanks) {
  Site site(1);
  hosts_.reset();
  connect({site.tree(0)});
  site.kill(0);
  EXPECT_THAT(work_->stop(), HasSubstr("node " + site.address(0)));
}

TEST_F(Survival, OfAStoppedNode) {
  Site site(1);
  connect({site.tree(0)});
  site.signal(0, SIGSTOP);
  await_log("go on among themselves", 1);
  await_operations(12);
  EXPECT_EQ(work_->stop(), "") << log();
}

}  // namespace
}  // namespace sluice::sharp
