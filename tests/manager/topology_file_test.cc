// SPDX-License-Identifier: Apache-2.0
// The topology file: what may stand there, and what is said about what may not.
#include "sharp/manager/core/topology_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sharp/manager/core/quantity.h"

namespace sluice::manager {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr const char* kGood = R"([[switch]]
name = "leaf0"
[[switch]]
name = "S-77"
alias = "spine0"

[[link]]
between = ["leaf0", "spine0"]
ports = [5, 1]
rate = "400Gbit"
[[link]]
between = ["leaf0", "spine0"]
ports = [6, 2]
healthy = false

[[host]]
name = "gpu07"
address = "10.0.0.7"
port = [{switch = "leaf0", rail = 0, rate = "50GB"}, {switch = "leaf0", rail = 1, plane = 1}]

[[node]]
address = "10.0.0.100:7654"
at = "leaf0"
rail = 1
roles = ["leaf", "inner"]
fan_in = 32
groups = 200
memory = "4GiB"
bandwidth = "100Gbit"
serves = ["gpu07", "10.0.0.0/24"]
uplink = "spine0"

[[tenant]]
name = "blue"
reserved = {groups = 2, memory = "64MiB"}
limit = {groups = 100}
)";

std::string error_of(std::string_view text) {
  const auto file = read_topology_file(text, "site.toml");
  return file ? "none" : file.error().message;
}

TEST(TopologyFile, EverythingThatMayStandThere) {
  const auto file = read_topology_file(kGood, "site.toml");
  ASSERT_TRUE(file) << file.error().message;
  const FabricDescription& fabric = file->fabric;
  ASSERT_EQ(fabric.switches.size(), 2u);
  EXPECT_EQ(fabric.switches[1].alias, "spine0");
  ASSERT_EQ(fabric.trunks.size(), 2u);
  EXPECT_EQ(fabric.trunks[0].rate, 50'000'000'000u);
  EXPECT_EQ(fabric.trunks[0].a_port, 5);
  EXPECT_TRUE(fabric.trunks[0].healthy);
  EXPECT_FALSE(fabric.trunks[1].healthy);
  ASSERT_EQ(fabric.host_ports.size(), 2u);
  EXPECT_EQ(fabric.host_ports[0].address, "10.0.0.7");
  EXPECT_EQ(fabric.host_ports[0].rate, 50'000'000'000u);
  EXPECT_EQ(fabric.host_ports[1].rail, 1);
  EXPECT_EQ(fabric.host_ports[1].plane, 1);
  ASSERT_EQ(fabric.nodes.size(), 1u);
  const NodeDescription& node = fabric.nodes[0];
  EXPECT_EQ(node.at, "leaf0");
  EXPECT_EQ(node.rail, 1);
  EXPECT_EQ(node.roles, kLeafRole | kInnerRole);
  EXPECT_EQ(node.fan_in, 32);
  EXPECT_EQ(node.capacity, (Amounts{200, uint64_t{4} << 30, 12'500'000'000}));
  EXPECT_THAT(node.serves, ElementsAre("gpu07", "10.0.0.0/24"));
  ASSERT_EQ(file->tenants.size(), 1u);
  EXPECT_EQ(file->tenants[0].reserved_per_node, (Amounts{2, 64 << 20, 0}));
  EXPECT_EQ(file->tenants[0].limit.groups, 100u);
  EXPECT_EQ(file->tenants[0].limit.memory, UINT64_MAX);
}

TEST(TopologyFile, AnEmptyFileIsAFile) {
  EXPECT_EQ(error_of("# nothing yet\n"), "none");
}

TEST(TopologyFile, DefaultsOfANode) {
  const auto file = read_topology_file("[[node]]\naddress = \"a:1\"\n", "f");
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ(file->fabric.nodes[0].rail, kAnyRail);
  EXPECT_EQ(file->fabric.nodes[0].roles, kAllRoles);
  EXPECT_EQ(file->fabric.nodes[0].fan_in, 64);
}

TEST(TopologyFile, ErrorsNameTheLine) {
  const std::pair<const char*, const char*> kCases[] = {
      {"a = [\n", "site.toml line 1, column 7: "},
      {"\n[[switches]]\nname = \"x\"\n",
       "site.toml line 2, column 1: the file has no \"switches\""},
      {"[[switch]]\n", "line 1, column 1: a switch needs a \"name\""},
      {"[[switch]]\nname = 5\n", "line 2, column 8: \"name\" of a switch is a text"},
      {"[[switch]]\nname = \"\"\n", "line 2, column 8: \"name\" of a switch is a text that is not"},
      {"[[switch]]\nname = \"a\"\n[[switch]]\nname = \"a\"\n",
       "line 4, column 8: \"name\" of a switch"},
      {"switch = 3\n", "line 1, column 10: \"switch\" of the file is a list of tables"},
      {"switch = [3]\n", "\"switch\" of the file is a list of tables"},
      {"[[link]]\nbetween = [\"a\"]\n",
       "line 2, column 11: \"between\" of a link is a list of two"},
      {"[[link]]\nrate = 3\n", "line 1, column 1: \"between\" of a link"},
      {"[[link]]\nbetween = [\"a\", \"a\"]\n", "line 2, column 11: \"between\""},
      {"[[link]]\nbetween = [\"a\", \"b\"]\nrate = \"fast\"\n",
       "line 3, column 8: \"rate\" of a link"},
      {"[[link]]\nbetween = [\"a\", \"b\"]\nports = [1]\n", "line 3, column 9: \"ports\""},
      {"[[link]]\nbetween = [\"a\", \"b\"]\nports = [0, 1]\n",
       "\"ports\" of a link is a number of 1..65535"},
      {"[[link]]\nbetween = [\"a\", \"b\"]\nhealthy = 1\n", "line 3, column 11: \"healthy\""},
      {"[[switch]]\nname = \"a\"\n[[link]]\nbetween = [\"a\", \"b\"]\n",
       "line 4, column 11: \"between\" of a link is a switch that has no [[switch]]"},
      {"[[host]]\nname = \"h\"\n", "line 1, column 1: \"port\" of a host is a list"},
      {"[[host]]\nname = \"h\"\nport = [{rail = 0}]\n",
       "line 3, column 9: a port needs a \"switch\""},
      {"[[host]]\nname = \"h\"\nport = [{switch = \"a\", rail = 16}]\n",
       "line 3, column 31: \"rail\" of a port is a number of 0..15"},
      {"[[node]]\naddress = \"a:1\"\nfan_in = 1\n",
       "line 3, column 10: \"fan_in\" of a node is a number of 2..64"},
      {"[[node]]\naddress = \"a:1\"\nmemory = \"much\"\n", "line 3, column 10: \"memory\""},
      {"[[node]]\naddress = \"a:1\"\nmemory = -1\n", "line 3, column 10: \"memory\""},
      {"[[node]]\naddress = \"a:1\"\nroles = [\"king\"]\n", "line 3, column 9: \"roles\""},
      {"[[node]]\naddress = \"a:1\"\nserves = [\"10.0.0.0/77\"]\n",
       "line 3, column 10: \"serves\""},
      {"[[node]]\naddress = \"a:1\"\n[[node]]\naddress = \"a:1\"\n",
       "line 4, column 11: \"address\""},
      {"[[tenant]]\nname = \"t\"\nlimit = 5\n",
       "line 3, column 9: \"limit\" of a tenant is a table"},
      {"[[tenant]]\nname = \"t\"\nlimit = {group = 5}\n",
       "line 3, column 18: \"limit\" has no \"group\""},
  };
  for (const auto& [text, expected] : kCases)
    EXPECT_THAT(error_of(text), HasSubstr(expected)) << text;
}

TEST(TopologyFile, CutAnywhereItNeverFails) {
  const std::string text = kGood;
  for (size_t size = 0; size < text.size(); ++size) {
    const std::string error = error_of(std::string_view(text).substr(0, size));
    EXPECT_TRUE(error == "none" || error.find("site.toml line ") == 0) << error;
  }
}

TEST(Quantity, BytesAndRates) {
  EXPECT_EQ(parse_bytes("4GiB"), uint64_t{4} << 30);
  EXPECT_EQ(parse_bytes("1.5 MiB"), 1536u << 10);
  EXPECT_EQ(parse_bytes("1000"), 1000u);
  EXPECT_EQ(parse_rate("200Mbit"), 25'000'000u);
  EXPECT_EQ(parse_rate("25GB"), 25'000'000'000u);
  for (const char* bad : {"", "GiB", "4GB", "4 GiBs", "-1", "1e99TiB", "nan", "inf", "4  GiB"}) {
    EXPECT_FALSE(parse_bytes(bad)) << bad;
  }
  for (const char* bad : {"", "4GiB", "400gbit", "-1Gbit"}) EXPECT_FALSE(parse_rate(bad)) << bad;
}

}  // namespace
}  // namespace sluice::manager
