// SPDX-License-Identifier: Apache-2.0
// Sources merged into one fabric, and who is found where.
#include "sharp/manager/core/fabric.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sharp/manager/core/routes.h"
#include "tests/manager/fabrics.h"

namespace sluice::manager {
namespace {

using namespace testing;
using ::testing::HasSubstr;

SwitchId at(const Fabric& fabric, const char* host, unsigned rail = 0) {
  return fabric.attachment(fabric.find_host(host), rail);
}

TEST(Fabric, NamesAndAliases) {
  Fabric fabric = build({{{"S-1", "leaf"}, {"S-2", "spine"}, {"S-3", "spine"}}, {}, {}, {}});
  EXPECT_EQ(fabric.find_switch("leaf"), fabric.find_switch("S-1"));
  EXPECT_FALSE(fabric.find_switch("spine").valid()) << "two have this alias";
  EXPECT_EQ(fabric.name_of(fabric.find_switch("S-1")), "leaf");
  EXPECT_EQ(fabric.name_of(fabric.find_switch("S-2")), "spine (S-2)");
}

TEST(Fabric, AFileAndASweepSpeakOfTheSameSwitch) {
  FabricDescription file;
  file.switches = {{"leaf", ""}};
  FabricDescription sweep;
  sweep.switches = {{"S-1", "leaf"}};
  for (const bool file_first : {true, false}) {
    Fabric fabric;
    ASSERT_TRUE(fabric.merge(file_first ? file : sweep));
    ASSERT_TRUE(fabric.merge(file_first ? sweep : file));
    EXPECT_EQ(fabric.switches().size(), 1u);
    EXPECT_EQ(fabric.find_switch("leaf"), fabric.find_switch("S-1"));
  }
}

TEST(Fabric, ParallelLinksAreToldApartByPort) {
  Fabric fabric;
  FabricDescription two;
  two.trunks = {{"a", "b", 1, 5}, {"a", "b", 2, 6}};
  ASSERT_TRUE(fabric.merge(two));
  EXPECT_EQ(fabric.trunks().size(), 2u);
  two.trunks = {{"b", "a", 5, 1, 100}, {"b", "a", 6, 2, 200}};
  ASSERT_TRUE(fabric.merge(two));
  EXPECT_EQ(fabric.trunks().size(), 2u) << "the same cables, seen from the other side";
  EXPECT_EQ(fabric.trunks()[1].rate, 200u);
}

TEST(Fabric, ASweepSaysWhatIsGone) {
  FabricDescription sweep = leaf_spine(2, 2, 2);
  sweep.nodes.clear();
  Fabric fabric;
  ASSERT_TRUE(fabric.merge(sweep, Fabric::Source::sweep));
  const uint64_t revision = fabric.topology_revision();
  ASSERT_TRUE(fabric.merge(sweep, Fabric::Source::sweep));
  EXPECT_EQ(fabric.topology_revision(), revision) << "nothing has changed";

  FabricDescription less = sweep;
  std::erase_if(less.trunks, [](const auto& trunk) { return trunk.b == "s0" && trunk.a == "l0"; });
  std::erase_if(less.host_ports, [](const auto& port) { return port.host == "h3"; });
  ASSERT_TRUE(fabric.merge(less, Fabric::Source::sweep));
  EXPECT_NE(fabric.topology_revision(), revision);
  EXPECT_FALSE(at(fabric, "h3").valid());
  EXPECT_TRUE(at(fabric, "h2").valid());
  const Routes routes(fabric);
  EXPECT_EQ(routes.distance(fabric.find_switch("l0"), fabric.find_switch("s0")), 3);

  ASSERT_TRUE(fabric.merge(sweep, Fabric::Source::sweep));
  EXPECT_TRUE(at(fabric, "h3").valid()) << "it is back";
}

TEST(Fabric, ASweepLeavesStatedLinksAlone) {
  Fabric fabric = build(one_switch(2));
  ASSERT_TRUE(fabric.merge({{{"S-9", ""}}, {}, {}, {}}, Fabric::Source::sweep));
  EXPECT_TRUE(at(fabric, "h0").valid());
}

TEST(Fabric, AWrongDescriptionChangesNothing) {
  Fabric fabric;
  const auto refused = [&](const auto& damage) -> std::string {
    FabricDescription bad = one_switch(2);
    damage(bad);
    const Status status = fabric.merge(bad);
    EXPECT_TRUE(fabric.switches().empty() && fabric.hosts().empty() && fabric.nodes().empty());
    return status ? "" : status.error().message;
  };
  EXPECT_THAT(refused([](auto& bad) { bad.switches[0].name = ""; }), HasSubstr("no name"));
  EXPECT_THAT(refused([](auto& bad) { bad.host_ports[0].host = std::string(300, 'x'); }),
              HasSubstr("longer than 255"));
  EXPECT_THAT(refused([](auto& bad) { bad.host_ports[0].rail = 16; }),
              HasSubstr("rail 16 of host h0: rails are 0..15"));
  EXPECT_THAT(refused([](auto& bad) {
                bad.trunks = {{"l0", "l0"}};
              }),
              HasSubstr("linked to itself"));
  EXPECT_THAT(refused([](auto& bad) { bad.nodes[0].fan_in = 65; }), HasSubstr("2..64"));
  EXPECT_THAT(refused([](auto& bad) { bad.nodes[0].roles = 0; }), HasSubstr("no role"));
  EXPECT_THAT(refused([](auto& bad) { bad.nodes[0].serves = {"10.0.0.0/99"}; }),
              HasSubstr("no subnet"));
  EXPECT_THAT(refused([](auto& bad) { bad.nodes.push_back(bad.nodes[0]); }),
              HasSubstr("there twice"));
}

TEST(Fabric, MembersAreFoundByNameShortNameAddressAndSubnet) {
  Fabric fabric;
  FabricDescription description = one_switch(2);
  description.host_ports[0].address = "10.0.0.7";
  NodeDescription near, far;
  far.address = "far:1";
  far.serves = {"10.0.0.0/8"};
  near.address = "near:1";
  near.serves = {"10.1.0.0/16", "fd00::/8"};
  description.nodes = {far, near};
  ASSERT_TRUE(fabric.merge(description));
  const auto where = [&](const char* name, const char* address) {
    const auto host = fabric.locate(name, address);
    if (!host) return host.error().message;
    return fabric.switch_at(fabric.attachment(*host, 3)).name;
  };
  EXPECT_EQ(*fabric.locate("h0"), fabric.find_host("h0"));
  EXPECT_EQ(*fabric.locate("h1.cluster.example"), fabric.find_host("h1"));
  EXPECT_EQ(*fabric.locate("another-name", "10.0.0.7"), fabric.find_host("h0"));
  EXPECT_EQ(where("x", "10.9.9.9"), "at far:1");
  EXPECT_EQ(where("y", "10.1.9.9"), "at near:1") << "the longer prefix";
  EXPECT_EQ(where("z", "fd00::1"), "at near:1");
  EXPECT_THAT(where("w", "192.168.0.1"), HasSubstr("host w is in no topology and no node serves"));
  EXPECT_THAT(where("", ""), HasSubstr("neither a host name nor an address"));
}

TEST(Fabric, StrangersStandWhereNodesWithoutAPlaceAre) {
  Fabric fabric;
  NodeDescription node;
  node.address = "n:1";
  ASSERT_TRUE(fabric.register_node(node));
  const auto host = fabric.locate("anybody", "1.2.3.4");
  ASSERT_TRUE(host);
  EXPECT_EQ(fabric.attachment(*host, 0), fabric.node(fabric.find_node("n:1")).at);
}

TEST(Fabric, ANodeOnAHostFollowsTheHostsLink) {
  FabricDescription description = leaf_spine(2, 1, 2);
  description.nodes = {node_at("h0")};
  Fabric fabric = build(description);
  const NodeId node = fabric.find_node("h0:1");
  EXPECT_EQ(fabric.node(node).at, fabric.find_switch("l0"));
  ASSERT_TRUE(fabric.merge({{}, {{"h0", "", 0, 0, "l1", 0, true}}, {}, {}}));
  ASSERT_TRUE(fabric.set_link_health("h0", "l0", false));
  EXPECT_EQ(fabric.node(node).at, fabric.find_switch("l1"));
}

TEST(Fabric, RegistrationsComeInAnyOrder) {
  NodeDescription root, leaf;
  root.address = "root:1";
  leaf.address = "leaf:1";
  leaf.serves = {"h0"};
  leaf.uplink = "root:1";
  root.serves = {"h1"};
  for (const bool root_first : {true, false}) {
    Fabric fabric;
    ASSERT_TRUE(fabric.register_node(root_first ? root : leaf));
    ASSERT_TRUE(fabric.register_node(root_first ? leaf : root));
    const Routes routes(fabric);
    EXPECT_EQ(routes.distance(at(fabric, "h0"), at(fabric, "h1")), 1);
    const uint64_t revision = fabric.topology_revision();
    ASSERT_TRUE(fabric.register_node(leaf)) << "again, after its restart";
    EXPECT_EQ(fabric.topology_revision(), revision);
    EXPECT_EQ(fabric.nodes().size(), 2u);
  }
}

TEST(Fabric, DrainingSurvivesARegistrationAndDownDoesNot) {
  Fabric fabric = build(one_switch(2));
  const NodeId node = fabric.find_node("l0:1");
  fabric.set_state(node, NodeState::draining);
  ASSERT_TRUE(fabric.register_node(node_at("l0")));
  EXPECT_EQ(fabric.node(node).state, NodeState::draining);
  fabric.set_state(node, NodeState::down);
  ASSERT_TRUE(fabric.register_node(node_at("l0")));
  EXPECT_EQ(fabric.node(node).state, NodeState::up);
}

TEST(Routes, MeetingPoints) {
  const Fabric fabric = build(fat_tree(2, 1));
  const Routes routes(fabric);
  const auto names = [&](const char* a, const char* b) {
    std::string text;
    for (const SwitchId site :
         routes.meeting_points(fabric.find_switch(a), fabric.find_switch(b))) {
      text += fabric.switch_at(site).name + ' ';
    }
    return text;
  };
  EXPECT_EQ(names("l0", "l0"), "l0 ");
  EXPECT_THAT(names("l0", "l1"), ::testing::AllOf(HasSubstr("s0.0"), HasSubstr("s0.1")));
  EXPECT_THAT(names("l0", "l3"), ::testing::AllOf(HasSubstr("c0.0"), HasSubstr("c1.1")));
  EXPECT_EQ(names("l3", "l0"), names("l0", "l3"));
  EXPECT_EQ(routes.distance(fabric.find_switch("l0"), fabric.find_switch("l3")), 4);
  EXPECT_EQ(routes.near(fabric.find_switch("l0"))[0], fabric.find_switch("l0"));
}

TEST(Subnet, Notation) {
  const auto contains = [](const char* subnet, const char* address) {
    return Subnet::parse(subnet)->contains(*parse_ip_address(address));
  };
  EXPECT_TRUE(contains("10.1.0.0/16", "10.1.255.1"));
  EXPECT_FALSE(contains("10.1.0.0/16", "10.2.0.1"));
  EXPECT_TRUE(contains("10.1.2.3/31", "10.1.2.2")) << "bits of the host do not matter";
  EXPECT_FALSE(contains("10.1.2.3/31", "10.1.2.4"));
  EXPECT_TRUE(contains("0.0.0.0/0", "1.2.3.4"));
  EXPECT_FALSE(contains("0.0.0.0/0", "fd00::1"));
  EXPECT_TRUE(contains("::/0", "1.2.3.4"));
  EXPECT_TRUE(contains("10.0.0.1/32", "10.0.0.1"));
  for (const char* bad : {"", "10.0.0.0", "10.0.0.0/", "10.0.0.0/33", "10.0.0.0/1x", "x/8",
                          "fd00::/129", "10.0.0.0/-1"}) {
    EXPECT_FALSE(Subnet::parse(bad)) << bad;
  }
}

}  // namespace
}  // namespace sluice::manager
