// SPDX-License-Identifier: Apache-2.0
// Where trees go: by fabric, by broken links, by full nodes.
#include <gtest/gtest.h>

#include "tests/manager/admission_fixture.h"

namespace sluice::manager {
namespace {

using namespace testing;

using Placement = testing::AdmissionFixture;

TEST_F(Placement, OneSwitch) {
  use(one_switch(8));
  EXPECT_EQ(place({0, 1, 2, 3}), "l0(0 1 2 3)");
  EXPECT_EQ(place({5}), "l0(0)") << "a group of one";
  EXPECT_EQ(place({3, 3, 1}), "l0(0 1 2)") << "two ranks on one host; order is that of the ranks";
}

TEST_F(Placement, OneSwitchLeastLoadedNode) {
  use(one_switch(8, 3));
  EXPECT_EQ(place({0, 1}), "l0(0 1)");
  EXPECT_EQ(place({0, 1}), "l0:2(0 1)");
  EXPECT_EQ(place({0, 1}), "l0:3(0 1)");
  EXPECT_EQ(place({0, 1}), "l0(0 1)");
}

TEST_F(Placement, LeafAndSpine) {
  use(leaf_spine(2, 2, 4));
  EXPECT_EQ(place({0, 1, 2}), "l0(0 1 2)") << "one leaf: nothing goes up";
  EXPECT_EQ(place({0, 1, 4, 5}), "s0(l0(0 1) l1(2 3))");
  EXPECT_EQ(place({0, 1, 4, 5}), "s1(l0(0 1) l1(2 3))") << "the other spine has less to do";
  EXPECT_EQ(place({4, 0, 5, 1}), "s0(l1(0 2) l0(1 3))") << "children by their lowest rank";
  EXPECT_EQ(place({0, 1, 4}), "s1(l0(0 1) 2)") << "a node with one child is left out";
  EXPECT_EQ(place({0, 4}), "s0(0 1)");
}

TEST_F(Placement, NodesAtSpinesOnly) {
  FabricDescription fabric = leaf_spine(2, 2, 4);
  std::erase_if(fabric.nodes, [](const NodeDescription& node) { return node.at[0] == 'l'; });
  use(fabric);
  EXPECT_EQ(place({0, 1, 4, 5}), "s0(0 1 2 3)");
}

TEST_F(Placement, NodesAtLeavesOnly) {
  FabricDescription fabric = leaf_spine(3, 2, 4);
  std::erase_if(fabric.nodes, [](const NodeDescription& node) { return node.at[0] == 's'; });
  use(fabric);
  EXPECT_EQ(place({0, 1, 4, 5, 6}), "l1(l0(0 1) 2 3 4)") << "the root is where most ranks are";
}

TEST_F(Placement, ThreeLevels) {
  use(fat_tree(3, 4));
  EXPECT_EQ(place({0, 1, 4, 5}), "s0.0(l0(0 1) l1(2 3))") << "one pod: no core";
  const std::string across = place({0, 1, 4, 5, 8, 9, 12, 13});
  EXPECT_EQ(across, "c0.0(s0.0(l0(0 1) l1(2 3)) s1.0(l2(4 5) l3(6 7)))");
  EXPECT_EQ(place({0, 1, 4, 5, 8}), "c0.1(s0.0(l0(0 1) l1(2 3)) 4)")
      << "a single rank goes straight to the root";
}

TEST_F(Placement, OnlyOneSpineHasACore) {
  FabricDescription fabric = fat_tree(2, 4);
  std::erase_if(fabric.nodes,
                [](const NodeDescription& node) { return node.at == "c0.0" || node.at == "c0.1"; });
  use(fabric);
  EXPECT_EQ(place({0, 1, 4, 5, 8, 9, 12, 13}), "c1.0(s0.1(l0(0 1) l1(2 3)) s1.1(l2(4 5) l3(6 7)))")
      << "spines are those below the core";
}

TEST_F(Placement, RingOfSwitches) {
  FabricDescription fabric;
  for (unsigned at = 0; at < 6; ++at) {
    const std::string name = "r" + std::to_string(at);
    fabric.switches.push_back({name, {}});
    fabric.trunks.push_back({name, "r" + std::to_string((at + 1) % 6)});
    fabric.host_ports.push_back({"h" + std::to_string(at), {}, 0, 0, name, 0, true});
    fabric.nodes.push_back(node_at(name));
  }
  use(fabric);
  EXPECT_EQ(place({0, 2}), "r1(0 1)");
  place({0, 1, 2, 3, 4, 5});
}

TEST_F(Placement, BrokenLinksAreAvoided) {
  use(leaf_spine(2, 2, 4));
  ASSERT_TRUE(fabric_.set_link_health("l1", "s0", false));
  EXPECT_EQ(place({0, 1, 4, 5}), "s1(l0(0 1) l1(2 3))");
  ASSERT_TRUE(fabric_.set_link_health("l1", "s1", false));
  EXPECT_EQ(place({0, 1, 4, 5}),
            "no tree on rail 0: host h4 has no healthy way to the others; look at its links");
  ASSERT_TRUE(fabric_.set_link_health("s0", "l1", true)) << "named the other way round";
  EXPECT_EQ(place({0, 1, 4, 5}), "s0(l0(0 1) l1(2 3))");
  ASSERT_TRUE(fabric_.set_link_health("h0", "l0", false));
  EXPECT_EQ(place({0, 1}),
            "no tree on rail 0: host h0 has no healthy way to the others; look at "
            "its links");
  EXPECT_FALSE(fabric_.set_link_health("h0", "l1", false)) << "no such link";
}

TEST_F(Placement, FullNodesAreGoneAround) {
  FabricDescription fabric = leaf_spine(2, 2, 4, {1, 1000 * kMiB, 0});
  use(fabric);
  EXPECT_EQ(place({0, 1, 4, 5}), "s0(l0(0 1) l1(2 3))");
  EXPECT_EQ(place({0, 1, 4, 5}), "s1(0 1 2 3)") << "the leaves are full, the spine takes all";
  const Decision third = admission_->admit(request_of(hosts(fabric_, {0, 1, 4, 5})), TimePoint{});
  EXPECT_EQ(third.denial.reason, Reason::groups);
}

TEST_F(Placement, DrainingAndDeadNodesGetNothing) {
  use(leaf_spine(2, 2, 4));
  fabric_.set_state(node("s0:1"), NodeState::draining);
  fabric_.set_state(node("l0:1"), NodeState::down);
  EXPECT_EQ(place({0, 1, 4, 5}), "s1(0 1 l1(2 3))");
  fabric_.set_state(node("s0:1"), NodeState::up);
  EXPECT_EQ(place({0, 1, 4, 5}), "s0(0 1 l1(2 3))");
}

TEST_F(Placement, RolesAreKept) {
  FabricDescription fabric = leaf_spine(2, 1, 4);
  for (NodeDescription& node : fabric.nodes) {
    node.roles = node.at == "s0" ? uint8_t{kRootRole | kInnerRole} : uint8_t{kLeafRole};
  }
  use(fabric);
  EXPECT_EQ(place({0, 1, 4, 5}), "s0(l0(0 1) l1(2 3))");
  const Decision mixed = admission_->admit(request_of(hosts(fabric_, {0, 1, 4})), TimePoint{});
  EXPECT_FALSE(mixed.granted()) << "rank 2 would sit at the spine, which takes no ranks";
}

TEST_F(Placement, WideGroupsGetMoreNodes) {
  use(one_switch(200, 4));
  std::vector<unsigned> all;
  for (unsigned host = 0; host < 65; ++host) all.push_back(host);
  EXPECT_EQ(place(all).substr(0, 16), "l0(l0:2(0 1) 2 3") << "one more than fits";
  for (unsigned host = 65; host < 128; ++host) all.push_back(host);
  const Decision wide = admission_->admit(request_of(hosts(fabric_, all)), TimePoint{});
  tree_of(wide);
  ASSERT_TRUE(wide.granted());
  EXPECT_EQ(admission_->find(wide.lease)->trees[0].nodes.size(), 3u);
  for (unsigned host = 128; host < 200; ++host) all.push_back(host);
  tree_of(admission_->admit(request_of(hosts(fabric_, all)), TimePoint{}));
}

TEST_F(Placement, TooWideForTheNodesThereAre) {
  use(one_switch(70, 1));
  const Decision decision = admission_->admit(request_of(first_hosts(fabric_, 70)), TimePoint{});
  EXPECT_EQ(decision.denial.reason, Reason::too_many_members);
}

TEST_F(Placement, FanInOfTheNodeItself) {
  FabricDescription fabric = one_switch(30, 12);
  for (NodeDescription& node : fabric.nodes) node.fan_in = 4;
  use(fabric);
  const Decision decision = admission_->admit(request_of(first_hosts(fabric_, 30)), TimePoint{});
  tree_of(decision);
  ASSERT_TRUE(decision.granted()) << admission_->sentence(decision.denial);
  EXPECT_EQ(admission_->find(decision.lease)->trees[0].depth(), 3u);
}

TEST_F(Placement, ATreePerRail) {
  FabricDescription fabric;
  for (unsigned rail = 0; rail < 2; ++rail) {
    const std::string name = "l" + std::to_string(rail);
    fabric.switches.push_back({name, {}});
    fabric.nodes.push_back(node_at(name));
    for (unsigned host = 0; host < 4; ++host) {
      fabric.host_ports.push_back(
          {"h" + std::to_string(host), {}, static_cast<uint8_t>(rail), 0, name, 0, true});
    }
  }
  use(fabric);
  Request request = request_of(first_hosts(fabric_, 4));
  request.rails = {0, 1};
  const Decision decision = admission_->admit(request, TimePoint{});
  EXPECT_EQ(tree_of(decision, 0), "l0(0 1 2 3)");
  EXPECT_EQ(tree_of(decision, 1), "l1(0 1 2 3)");
  Request third = request_of(first_hosts(fabric_, 4));
  third.rails = {0, 2};
  const Decision denied = admission_->admit(third, TimePoint{});
  EXPECT_EQ(denied.denial.reason, Reason::no_path);
  EXPECT_EQ(denied.denial.rail, 2);
  EXPECT_EQ(admission_->account(node("l0:1")).used.groups, 1u) << "all rails or none";
}

TEST_F(Placement, RailsOfOneSwitchNeedANodeEach) {
  FabricDescription fabric = one_switch(4, 1);
  for (const auto& port : std::vector(fabric.host_ports)) {
    fabric.host_ports.push_back(port);
    fabric.host_ports.back().rail = 1;
  }
  use(fabric);
  Request request = request_of(first_hosts(fabric_, 4));
  request.rails = {0, 1};
  EXPECT_EQ(admission_->admit(request, TimePoint{}).denial.reason, Reason::no_nodes);
  ASSERT_TRUE(fabric_.register_node(node_at("l0", kRoomy, ":2")));
  const Decision decision = admission_->admit(request, TimePoint{});
  EXPECT_EQ(tree_of(decision, 0), "l0(0 1 2 3)");
  EXPECT_EQ(tree_of(decision, 1), "l0:2(0 1 2 3)");
}

TEST_F(Placement, WithoutTopology) {
  FabricDescription fabric;
  for (unsigned number = 0; number < 3; ++number) {
    NodeDescription node;
    node.address = "node" + std::to_string(number) + ":1";
    node.capacity = kRoomy;
    fabric.nodes.push_back(node);
  }
  use(fabric);
  std::vector<HostId> members;
  for (unsigned host = 0; host < 100; ++host) {
    members.push_back(*fabric_.locate("stranger" + std::to_string(host)));
  }
  EXPECT_EQ(tree_of(admission_->admit(request_of({members[0], members[1]}), TimePoint{})),
            "node0:1(0 1)");
  EXPECT_EQ(tree_of(admission_->admit(request_of({members[0], members[1]}), TimePoint{})),
            "node1:1(0 1)");
  const Decision wide = admission_->admit(request_of(members), TimePoint{});
  tree_of(wide);
  ASSERT_TRUE(wide.granted());
  EXPECT_EQ(admission_->find(wide.lease)->trees[0].nodes.size(), 2u);
}

TEST_F(Placement, NodesThatServeSubnetsMakeATree) {
  use({});
  NodeDescription root;
  root.address = "10.0.0.1:1";
  root.uplink = "10.0.0.1:1";
  root.serves = {"10.9.0.0/16"};
  root.capacity = kRoomy;
  NodeDescription left = root, right = root;
  left.address = "10.1.0.1:1";
  left.serves = {"10.1.0.0/16"};
  right.address = "10.2.0.1:1";
  right.serves = {"10.2.0.0/16", "named"};
  for (const auto& each : {left, right, root}) ASSERT_TRUE(fabric_.register_node(each));
  const std::vector<HostId> members{*fabric_.locate("a", "10.1.0.5"),
                                    *fabric_.locate("b", "10.1.0.6"), *fabric_.locate("named"),
                                    *fabric_.locate("c", "10.2.7.7")};
  EXPECT_EQ(tree_of(admission_->admit(request_of(members), TimePoint{})),
            "10.0.0.1:1(10.1.0.1:1(0 1) 10.2.0.1:1(2 3))");
}

TEST_F(Placement, SameAnswersEveryTime) {
  std::vector<std::string> first;
  for (int run = 0; run < 2; ++run) {
    groups_ = 0;
    use(fat_tree(4, 4));
    std::vector<std::string> trees;
    for (unsigned job = 0; job < 40; ++job) {
      trees.push_back(place({job % 32, (job * 7 + 1) % 32, (job * 5 + 3) % 32, (job * 3) % 32}));
    }
    if (run == 0) first = trees;
    EXPECT_EQ(trees, first);
  }
}

}  // namespace
}  // namespace sluice::manager
