// SPDX-License-Identifier: Apache-2.0
// What ibnetdiscover printed about a simulated subnet, what other subnets look like, and damage.
#include "sharp/manager/core/ibnetdiscover.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "sharp/manager/core/routes.h"
#include "tests/manager/fabrics.h"

namespace sluice::manager {
namespace {

using namespace testing;
using ::testing::HasSubstr;

constexpr const char* kSmall = R"(# Topology file
vendid=0x2c9
devid=0xd2f0
sysimgguid=0xb8599f0300fc6de4
switchguid=0xb8599f0300fc6de4(b8599f0300fc6de4)
Switch	81 "S-b8599f0300fc6de4"		# "MF0;sw-a:MQM8700/U1" enhanced port 0 lid 3 lmc 0
[1]	"H-1000000000000001"[1](1000000000000001) 		# "gpu1 mlx5_10" lid 12 2xHDR
[2]	"H-1000000000000002"[1](1000000000000002) 		# "gpu1 mlx5_2" lid 13 4xHDR
[3][ext 1]	"S-b8599f0300fc6de5"[7]		# "MF0;sw-b:MQM8700/U1" lid 4 4xNDR
[81]	"H-1000000000000003"[1](1000000000000003) 		# "Mellanox Technologies Aggregation Node" lid 5 4xHDR

vendid=0x2c9
switchguid=0xb8599f0300fc6de5(b8599f0300fc6de5)
Switch	81 "S-b8599f0300fc6de5"		# "MF0;sw-b:MQM8700/U1" enhanced port 0 lid 4 lmc 0
[7]	"S-b8599f0300fc6de4"[3]		# "MF0;sw-a:MQM8700/U1" lid 3 4xNDR
[8]	"H-1000000000000004"[1](1000000000000004)
[9]	"R-1000000000000009"[1](1000000000000009) 		# "router" lid 9 4xHDR

vendid=0x2c9
caguid=0x1000000000000001
Ca	1 "H-1000000000000001"		# "gpu1 mlx5_10"
[1](1000000000000001) 	"S-b8599f0300fc6de4"[1]		# lid 12 lmc 0 "MF0;sw-a:MQM8700/U1" lid 3 2xHDR

Ca	1 "H-1000000000000002"		# "gpu1 mlx5_2"
[1](1000000000000002) 	"S-b8599f0300fc6de4"[2]		# lid 13 lmc 0 "MF0;sw-a:MQM8700/U1" lid 3 4xHDR

Ca	1 "H-1000000000000004"		# "gpu2 mlx5_2"
[1](1000000000000004) 	"S-b8599f0300fc6de5"[8]

Rt	2 "R-1000000000000009"		# "router"
[1](1000000000000009) 	"S-b8599f0300fc6de5"[9]		# lid 9 lmc 0 "MF0;sw-b:MQM8700/U1" lid 4 4xHDR
)";

std::string replaced(std::string text, const std::string& what, const std::string& by) {
  const size_t at = text.find(what);
  EXPECT_NE(at, std::string::npos) << what;
  return at == std::string::npos ? text : text.replace(at, what.size(), by);
}

TEST(Ibnetdiscover, ASimulatedSubnet) {
  std::ifstream file(SLUICE_TEST_DATA "/ibnetdiscover-2-spines.txt");
  std::stringstream text;
  text << file.rdbuf();
  const auto description = read_ibnetdiscover(text.str());
  ASSERT_TRUE(description) << description.error().message;
  EXPECT_EQ(description->switches.size(), 6u);
  EXPECT_EQ(description->trunks.size(), 8u);
  EXPECT_EQ(description->host_ports.size(), 16u);
  EXPECT_EQ(description->trunks[0].rate, 1'000'000'000u) << "4xSDR carries 8 Gbit/s";
  Fabric fabric;
  ASSERT_TRUE(fabric.merge(*description, Fabric::Source::sweep));
  EXPECT_EQ(fabric.hosts().size(), 8u);
  const HostId host = fabric.find_host("h5");
  ASSERT_TRUE(host.valid());
  EXPECT_EQ(fabric.attachment(host, 0), fabric.find_switch("leaf2"));
  EXPECT_EQ(fabric.attachment(host, 1), fabric.find_switch("leaf3"));
  EXPECT_FALSE(fabric.attachment(host, 2).valid());
  const Routes routes(fabric);
  EXPECT_EQ(routes.distance(fabric.find_switch("leaf0"), fabric.find_switch("leaf3")), 2);
}

TEST(Ibnetdiscover, HostsRailsAndRates) {
  const auto description = read_ibnetdiscover(kSmall);
  ASSERT_TRUE(description) << description.error().message;
  ASSERT_EQ(description->switches.size(), 2u);
  EXPECT_EQ(description->switches[0].alias, "MF0;sw-a:MQM8700/U1");
  ASSERT_EQ(description->trunks.size(), 1u) << "both ends tell of one cable";
  EXPECT_EQ(description->trunks[0].a_port, 3);
  EXPECT_EQ(description->trunks[0].b_port, 7);
  EXPECT_EQ(description->trunks[0].rate, 50'000'000'000u);
  ASSERT_EQ(description->host_ports.size(), 3u);
  EXPECT_EQ(description->host_ports[0].host, "gpu1");
  EXPECT_EQ(description->host_ports[0].rail, 1) << "mlx5_10 comes after mlx5_2";
  EXPECT_EQ(description->host_ports[0].rate, 12'500'000'000u) << "2xHDR";
  EXPECT_EQ(description->host_ports[1].rail, 0);
  EXPECT_EQ(description->host_ports[2].host, "gpu2");
  EXPECT_EQ(description->host_ports[2].rate, 0u) << "an old version prints no rate";
}

TEST(Ibnetdiscover, LineEndsOfOtherSystems) {
  std::string text;
  for (const char* at = kSmall; *at != '\0'; ++at)
    text += *at == '\n' ? "\r\n" : std::string(1, *at);
  EXPECT_TRUE(read_ibnetdiscover(text));
}

TEST(Ibnetdiscover, DamageIsNamedByLine) {
  const auto error = [](const std::string& text) -> std::string {
    const auto description = read_ibnetdiscover(text);
    return description ? "none" : description.error().message;
  };
  EXPECT_THAT(error(""), HasSubstr("line 1: there is no switch"));
  EXPECT_THAT(error("hello world\n"), HasSubstr("line 1: this is neither"));
  EXPECT_THAT(error("[1] \"S-1\"[1]\n"), HasSubstr("line 1: a port before any"));
  EXPECT_THAT(error(replaced(kSmall, "Switch	81 \"S-b8599f0300fc6de4\"", "Switch	81 ")),
              HasSubstr("line 6: the node's number of ports or id is missing"));
  EXPECT_THAT(error(replaced(kSmall, "Switch	81", "Switch	")), HasSubstr("line 6: "));
  EXPECT_THAT(error(replaced(kSmall, "[2]	\"H", "[2	\"H")),
              HasSubstr("line 8: a port's line"));
  EXPECT_THAT(error(replaced(kSmall, "[2]	\"H", "[99999]	\"H")), HasSubstr("line 8: "));
  EXPECT_THAT(error(replaced(kSmall, "\"S-b8599f0300fc6de5\"[7]", "\"S-b8599f0300fc6de5\"")),
              HasSubstr("line 9: a port's line"));
  EXPECT_THAT(error(replaced(kSmall, "\"S-b8599f0300fc6de5\"[7]", "\"S-77\"[7]")),
              HasSubstr("line 9: a link goes to switch S-77, which is not described"));
  EXPECT_THAT(
      error(std::string(kSmall) + "Switch	81 \"S-b8599f0300fc6de5\"	# \"again\"\n"),
      HasSubstr("switch S-b8599f0300fc6de5 is there twice"));
}

TEST(Ibnetdiscover, CutAnywhereItNeverFails) {
  const std::string text = kSmall;
  for (size_t size = 0; size < text.size(); ++size) {
    const auto description = read_ibnetdiscover(std::string_view(text).substr(0, size));
    const std::string error = description ? "line " : description.error().message;
    EXPECT_THAT(error, HasSubstr("line ")) << size;
  }
}

TEST(Ibnetdiscover, RailsBeyondTheLastAreLeftOut) {
  std::string text = "Switch	64 \"S-1\"		# \"leaf\"\n";
  for (int adaptor = 0; adaptor < 20; ++adaptor) {
    text += "Ca	1 \"H-" + std::to_string(adaptor) + "\"		# \"gpu1 mlx5_" +
            std::to_string(adaptor) + "\"\n[1](1) 	\"S-1\"[" + std::to_string(adaptor + 1) +
            "]		# lid 1 lmc 0 \"leaf\" lid 2 4xHDR\n";
  }
  const auto description = read_ibnetdiscover(text);
  ASSERT_TRUE(description) << description.error().message;
  EXPECT_EQ(description->host_ports.size(), kMaxRails);
}

}  // namespace
}  // namespace sluice::manager
