// SPDX-License-Identifier: Apache-2.0
#include "transport/tcp/interfaces.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace sluice::transport::tcp {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

Interface make(const std::string& name, const std::string& address, bool up = true) {
  return {name, *SocketAddress::parse(address), up};
}

const std::vector<Interface>& machine() {
  static const auto* const kMachine = new std::vector<Interface>{
      make("lo", "127.0.0.1:0"),   make("lo", "[::1]:0"),       make("docker0", "172.17.0.1:0"),
      make("eth0", "10.0.0.5:0"),  make("eth0", "[fd00::5]:0"), make("eth1", "10.1.0.5:0"),
      make("eth10", "10.2.0.5:0"), make("eno1", "[fd01::1]:0"), make("eth2", "10.3.0.5:0", false),
  };
  return *kMachine;
}

std::vector<std::string> names(const std::string& filter, Family family = Family::any,
                               const std::vector<Interface>& all = machine()) {
  std::vector<std::string> result;
  for (const Interface& interface : choose_interfaces(all, filter, family)) {
    result.push_back(interface.name);
  }
  return result;
}

TEST(Interfaces, WithoutAFilterTakeRealOnes) {
  EXPECT_THAT(names(""), ElementsAre("eth0", "eth1", "eth10", "eno1"));
}

TEST(Interfaces, WithoutAFilterPreferInfiniBandThenOthersThenDockerThenLoopback) {
  std::vector<Interface> all = machine();
  all.push_back(make("ib0", "10.9.0.1:0"));
  EXPECT_THAT(names("", Family::any, all), ElementsAre("ib0"));
  all = {make("lo", "127.0.0.1:0"), make("docker0", "172.17.0.1:0")};
  EXPECT_THAT(names("", Family::any, all), ElementsAre("docker0"));
  all.pop_back();
  EXPECT_THAT(names("", Family::any, all), ElementsAre("lo"));
}

TEST(Interfaces, PrefixExactAndExclusion) {
  EXPECT_THAT(names("eth"), ElementsAre("eth0", "eth1", "eth10"));
  EXPECT_THAT(names("eth1"), ElementsAre("eth1", "eth10"));
  EXPECT_THAT(names("=eth1"), ElementsAre("eth1"));
  EXPECT_THAT(names("=eth1,lo"), ElementsAre("lo", "eth1"));
  EXPECT_THAT(names("^eth,docker"), ElementsAre("lo", "eno1"));
  EXPECT_THAT(names("^=eth1"), ElementsAre("lo", "docker0", "eth0", "eth10", "eno1"));
  EXPECT_THAT(names("lo"), ElementsAre("lo"));
  EXPECT_THAT(names("wlan"), IsEmpty());
}

TEST(Interfaces, SloppyFiltersAreUnderstood) {
  EXPECT_THAT(names("eth0:1,,"), ElementsAre("eth0"));
  EXPECT_THAT(names(" eno1 , lo"), ElementsAre("lo", "eno1"));
  EXPECT_THAT(names("^"), ElementsAre("eth0", "eth1", "eth10", "eno1"));
}

TEST(Interfaces, TheFamilyChoosesAddresses) {
  EXPECT_THAT(names("", Family::ipv6), ElementsAre("eth0", "eno1"));
  EXPECT_THAT(names("", Family::ipv4), ElementsAre("eth0", "eth1", "eth10"));
  const auto chosen = choose_interfaces(machine(), "eth0", Family::ipv6);
  ASSERT_EQ(chosen.size(), 1U);
  EXPECT_EQ(chosen[0].address.text(), "[fd00::5]:0");
}

TEST(Interfaces, DownOnesAreNeverTaken) {
  EXPECT_THAT(names("=eth2"), IsEmpty());
}

TEST(Interfaces, OfThisHostIncludeLoopback) {
  const auto all = list_interfaces();
  ASSERT_TRUE(all);
  EXPECT_THAT(names("=lo", Family::ipv4, *all), ElementsAre("lo"));
}

TEST(Interfaces, SpeedAndPathComeFromSysfs) {
  const auto root =
      std::filesystem::path(testing::TempDir()) / ("sluice-sysfs-" + std::to_string(::getpid()));
  const auto pci = root / "devices/pci0000:00/0000:00:03.0";
  std::filesystem::create_directories(pci);
  for (const char* name : {"eth0", "veth0"})
    std::filesystem::create_directories(root / "class/net" / name);
  std::filesystem::create_symlink(pci, root / "class/net/eth0/device");
  std::ofstream(root / "class/net/eth0/speed") << 100000;
  std::ofstream(root / "class/net/veth0/speed") << -1;
  EXPECT_EQ(interface_speed("eth0", root), 100000);
  EXPECT_EQ(interface_speed("veth0", root), 10000);
  EXPECT_EQ(interface_speed("none", root), 10000);
  EXPECT_EQ(interface_path("eth0", root), std::filesystem::canonical(pci));
  EXPECT_EQ(interface_path("veth0", root), std::filesystem::canonical(root / "class/net/veth0"));
  EXPECT_TRUE(std::filesystem::exists(interface_path("none", root)));
  std::filesystem::remove_all(root);
}

}  // namespace
}  // namespace sluice::transport::tcp
