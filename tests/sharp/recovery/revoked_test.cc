// SPDX-License-Identifier: Apache-2.0
// A source of trees that takes a tree back under a group at work: preempted, or drained.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <mutex>

#include "sharp/agg/embedded_node.h"
#include "sharp/client/coordinator.h"
#include "sharp/client/council_setup.h"
#include "sharp/client/participant.h"
#include "sharp/client/static_tree.h"
#include "tests/sharp/recovery/site.h"
#include "tests/sharp/recovery/workload.h"

namespace sluice::sharp {
namespace {

using testing::Cluster;
using ::testing::HasSubstr;
using testing::Rank;
using testing::Site;
using testing::Workload;

// What the test tells the source, from its own thread.
class Script {
 public:
  void revoke(std::string why) {
    const std::lock_guard lock(mutex_);
    revoked_ = std::move(why);
  }
  void offer(std::optional<TreeSpec> tree) {
    const std::lock_guard lock(mutex_);
    offer_ = std::move(tree);
  }
  std::string take_revocation() {
    const std::lock_guard lock(mutex_);
    return std::exchange(revoked_, {});
  }
  std::optional<TreeSpec> offered() const {
    const std::lock_guard lock(mutex_);
    return offer_;
  }

 private:
  mutable std::mutex mutex_;
  std::string revoked_;
  std::optional<TreeSpec> offer_;
};

class ScriptedSource final : public TreeSource {
 public:
  explicit ScriptedSource(Script& script) : script_(script) {}
  void request(const TreeRequest& request) override { request_ = request; }
  Result<std::optional<TreeOffer>> poll() override {
    const auto spec = script_.offered();
    if (!spec) return fail(ErrorKind::refused, "nothing is free");
    auto tree = place_ranks(*spec, request_.hosts);
    if (!tree) return fail(std::move(tree).error());
    return TreeOffer{*std::move(tree), request_.window, "", "the test"};
  }
  std::string revoked() override { return script_.take_revocation(); }
  bool worth_asking() override { return script_.offered().has_value(); }

 private:
  Script& script_;
  TreeRequest request_;
};

class Revoked : public ::testing::Test {
 protected:
  static constexpr int kRanks = 3;

  Revoked() : site_(2), cluster_(kRanks) {
    settings_.trees = {site_.tree(0)};
    settings_.chunk_bytes = 4096;
    settings_.window = 8;
    settings_.node_hosts = std::make_shared<EmbeddedNodeFactory>();
    const auto handles = cluster_.handles();
    cluster_.each([&](Rank& rank) { rank.client = connect(rank, handles); });
  }

  // Client::connect() with the test's source of trees.
  Result<std::unique_ptr<Client>> connect(Rank& rank,
                                          const std::vector<transport::ListenerAddress>& handles) {
    const std::vector<std::string> hosts(kRanks, "127.0.0.1");
    auto agreement =
        rank.rank == 0
            ? Coordinator(rank.context, settings_, hosts, rank.rendezvous->listener()).agree()
            : Participant(rank.context, settings_, rank.rank, kRanks).agree(handles[0]);
    if (!agreement) return fail(std::move(agreement).error());
    agreement->source = std::make_unique<ScriptedSource>(script_);
    auto client = std::make_unique<GroupClient>(rank.context.logger(), agreement->plan, rank.rank,
                                                agreement->joiner->take());
    SLUICE_RETURN_IF_ERROR(start_council(rank.context, settings_, *agreement,
                                         static_cast<uint16_t>(rank.rank),
                                         rank.rendezvous->address(), *client));
    return client;
  }
  void work_until(const std::string& text) {
    for (int at = 0; at < 4000 && !cluster_[0].log.contains(text); ++at) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    EXPECT_TRUE(cluster_[0].log.contains(text)) << text << " in\n" << cluster_[0].log.all();
  }

  Site site_;
  Script script_;
  ClientSettings settings_;
  Cluster cluster_;
};

TEST_F(Revoked, ATreeIsExchangedForAnother) {
  Workload work(cluster_, 3);
  work.start();
  script_.offer(site_.tree(1));
  script_.revoke("drained");
  work_until("is on a tree again");
  site_.kill(0);  // of no use any more
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  EXPECT_EQ(work.stop(), "") << cluster_[0].log.all();
  EXPECT_FALSE(cluster_[0].log.contains("among themselves")) << cluster_[0].log.all();
  EXPECT_THAT(cluster_[0].log.all(), HasSubstr(site_.address(1)));
}

TEST_F(Revoked, ATreeIsGivenUpAndComesBack) {
  Workload work(cluster_, 3);
  work.start();
  script_.revoke("preempted by job 4");
  work_until("preempted by job 4");
  work_until("goes on after");
  script_.offer(site_.tree(1));
  work_until("is on a tree again");
  EXPECT_EQ(work.stop(), "") << cluster_[0].log.all();
}

}  // namespace
}  // namespace sluice::sharp
