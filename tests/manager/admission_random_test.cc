// SPDX-License-Identifier: Apache-2.0
// Random requests, releases, re-formings and failures against a plain account of what is held.
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "tests/manager/admission_fixture.h"

namespace sluice::manager {
namespace {

using namespace testing;

class RandomAdmission : public AdmissionFixture, public ::testing::WithParamInterface<unsigned> {
 protected:
  void use_random_fabric() {
    const Amounts capacity{pick(1, 6), pick(10, 60) * kMiB, pick(0, 1) * 100'000};
    const unsigned shape = pick(0, 2);
    FabricDescription fabric = shape == 0   ? one_switch(pick(4, 80), pick(1, 6), capacity)
                               : shape == 1 ? leaf_spine(pick(2, 5), pick(1, 4), 6, capacity)
                                            : fat_tree(pick(2, 4), 6, capacity);
    for (NodeDescription& node : fabric.nodes) {
      if (pick(0, 9) == 0) node.fan_in = static_cast<uint16_t>(pick(2, 5));
      if (pick(0, 9) == 0) node.roles = static_cast<uint8_t>(pick(1, 7));
    }
    AdmissionPolicy policy;
    policy.tenants.push_back({"blue", {1, 5 * kMiB, 0}});
    policy.tenants.push_back({"green", {}, {20, 200 * kMiB, UINT64_MAX}});
    use(fabric, policy);
  }
  unsigned pick(unsigned least, unsigned most) {
    return least + static_cast<unsigned>(random_() % (most - least + 1));
  }
  Request random_request() {
    static constexpr const char* kTenants[] = {"", "blue", "green", "red"};
    std::vector<HostId> members;
    const unsigned count = pick(0, 9) == 0 ? pick(1, 90) : pick(1, 12);
    for (unsigned member = 0; member < count; ++member) {
      members.push_back(HostId{pick(0, static_cast<unsigned>(fabric_.hosts().size()) - 1)});
    }
    Request request = request_of(std::move(members), kTenants[pick(0, 3)]);
    request.priority = static_cast<uint8_t>(pick(0, 2));
    request.exclusive = pick(0, 9) == 0;
    request.bandwidth = pick(0, 1) * 500;
    request.least_window_bytes = pick(0, 1) * (64 << 10);
    if (pick(0, 4) == 0) {
      request.avoid.push_back(NodeId{pick(0, static_cast<unsigned>(fabric_.nodes().size()) - 1)});
    }
    return request;
  }

  // All that must hold whenever somebody looks.
  void check() {
    std::map<NodeId, Amounts> held;
    std::map<NodeId, unsigned> groups, exclusive;
    admission_->for_each_lease([&](const Lease& lease) {
      for (const Holding& holding : lease.holdings) {
        held[holding.node] += holding.amounts;
        ++groups[holding.node];
        exclusive[holding.node] += lease.request.exclusive;
      }
      if (lease.has_trees()) check_lease(lease);
    });
    for (uint32_t number = 0; number < fabric_.nodes().size(); ++number) {
      const NodeId node{number};
      const NodeAccount& account = admission_->account(node);
      EXPECT_EQ(account.used, held[node]);
      EXPECT_EQ(account.shares.size(), groups[node]);
      EXPECT_TRUE(account.used.fits_into(account.capacity)) << "over capacity";
      EXPECT_TRUE(exclusive[node] == 0 || groups[node] == 1) << "an exclusive node is shared";
    }
  }
  void check_lease(const Lease& lease) {
    ASSERT_EQ(lease.trees.size(), lease.request.rails.size());
    const Tree& tree = lease.trees[0];
    EXPECT_EQ(what_is_wrong(fabric_, tree, lease.request.members.size()), "")
        << text_of(fabric_, tree);
    EXPECT_LE(tree.depth(), TreePlanner::kMaxDepth);
    ASSERT_EQ(lease.holdings.size(), tree.nodes.size());
    for (size_t place = 0; place < tree.nodes.size(); ++place) {
      EXPECT_EQ(lease.holdings[place].node, tree.nodes[place].node);
      EXPECT_EQ(lease.holdings[place].amounts.memory,
                (tree.nodes[place].children + 2u) * lease.window_bytes);
      for (const NodeId avoided : lease.request.avoid) EXPECT_NE(tree.nodes[place].node, avoided);
    }
  }

  std::mt19937 random_{GetParam()};
};

TEST_P(RandomAdmission, InvariantsHold) {
  use_random_fabric();
  std::vector<LeaseId> leases;
  size_t granted = 0;
  for (int step = 0; step < 400; ++step) {
    const unsigned action = pick(0, 9);
    if (action < 6 || leases.empty()) {
      const Decision decision = admit(random_request());
      if (decision.granted()) leases.push_back(decision.lease);
      granted += decision.granted();
      EXPECT_NE(admission_->sentence(decision.denial), "");
      EXPECT_TRUE(decision.granted() || decision.preempted.empty());
      for (const LeaseId loser : decision.preempted) EXPECT_EQ(tree_of(loser), "no trees");
    } else if (action < 8) {
      std::swap(leases[pick(0, static_cast<unsigned>(leases.size()) - 1)], leases.back());
      EXPECT_TRUE(admission_->release(leases.back()));
      leases.pop_back();
    } else if (action == 8) {
      const NodeId avoid[] = {NodeId{pick(0, static_cast<unsigned>(fabric_.nodes().size()) - 1)}};
      const LeaseId lease = leases[pick(0, static_cast<unsigned>(leases.size()) - 1)];
      admission_->reform(lease, avoid, TimePoint{});
    } else {
      const NodeId node{pick(0, static_cast<unsigned>(fabric_.nodes().size()) - 1)};
      fabric_.set_state(node, static_cast<NodeState>(pick(0, 2)));
    }
    check();
    if (HasFailure()) FAIL() << "seed " << GetParam() << ", step " << step;
  }
  EXPECT_GT(granted, 0u);
  for (const LeaseId lease : leases) EXPECT_TRUE(admission_->release(lease));
  for (uint32_t number = 0; number < fabric_.nodes().size(); ++number) {
    EXPECT_EQ(admission_->account(NodeId{number}).used, Amounts{}) << "all is given back";
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomAdmission, ::testing::Range(1u, 31u));

}  // namespace
}  // namespace sluice::manager
