// SPDX-License-Identifier: Apache-2.0
// Our declarations of NCCL's structs against tests/data/abi-layout.txt: every size, member, offset,
// for each version. Both ways: a line of the file that we do not declare fails as well as the
// reverse.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <tuple>
#include <vector>

#include "plugin/abi/versions.h"

namespace sluice::test {
namespace {

struct Member {
  std::string name;
  size_t offset;
  size_t size;
  bool operator==(const Member&) const = default;
};

struct Layout {
  size_t size = 0;
  std::vector<Member> members;  // by offset
  bool operator==(const Layout&) const = default;
};

std::ostream& operator<<(std::ostream& out, const Layout& layout) {
  out << "size " << layout.size;
  for (const Member& member : layout.members) {
    out << "\n  " << member.name << ' ' << member.offset << ' ' << member.size;
  }
  return out;
}

using Layouts = std::map<std::string, Layout>;

Layouts read_layouts(const char* file) {
  Layouts layouts;
  Layout* current = nullptr;
  std::ifstream input(file);
  EXPECT_TRUE(input.is_open()) << file;
  for (std::string line; std::getline(input, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream words(line);
    if (line[0] == ' ') {
      Member member;
      words >> member.name >> member.offset >> member.size;
      current->members.push_back(member);
    } else {
      std::string type, word;
      Layout layout;
      words >> type >> word >> layout.size;
      EXPECT_EQ(word, "size") << line;
      current = &(layouts[type] = layout);
    }
    EXPECT_FALSE(words.fail()) << line;
  }
  return layouts;
}

// Describes a member if this version's struct has it.
#define SLUICE_MEMBER(member)                                                     \
  if constexpr (requires(Type & object) { object.member; }) {                     \
    layout.members.push_back(                                                     \
        {#member, offsetof(Type, member), sizeof(std::declval<Type&>().member)}); \
  }

template <typename Type>
Layout finished(Layout layout) {
  layout.size = sizeof(Type);
  std::ranges::sort(layout.members, {}, &Member::offset);
  return layout;
}

template <typename Type>
Layout describe_properties() {
  Layout layout;
  SLUICE_MEMBER(name)
  SLUICE_MEMBER(pciPath)
  SLUICE_MEMBER(guid)
  SLUICE_MEMBER(ptrSupport)
  SLUICE_MEMBER(regIsGlobal)
  SLUICE_MEMBER(forceFlush)
  SLUICE_MEMBER(speed)
  SLUICE_MEMBER(port)
  SLUICE_MEMBER(latency)
  SLUICE_MEMBER(maxComms)
  SLUICE_MEMBER(maxRecvs)
  SLUICE_MEMBER(netDeviceType)
  SLUICE_MEMBER(netDeviceVersion)
  SLUICE_MEMBER(vProps)
  SLUICE_MEMBER(maxP2pBytes)
  SLUICE_MEMBER(maxCollBytes)
  SLUICE_MEMBER(maxMultiRequestSize)
  SLUICE_MEMBER(railId)
  SLUICE_MEMBER(planeId)
  return finished<Type>(layout);
}

// Net and CollNet tables: the union of their members.
template <typename Type>
Layout describe_table() {
  Layout layout;
  SLUICE_MEMBER(name)
  SLUICE_MEMBER(init)
  SLUICE_MEMBER(devices)
  SLUICE_MEMBER(getProperties)
  SLUICE_MEMBER(listen)
  SLUICE_MEMBER(connect)
  SLUICE_MEMBER(accept)
  SLUICE_MEMBER(reduceSupport)
  SLUICE_MEMBER(regMr)
  SLUICE_MEMBER(regMrDmaBuf)
  SLUICE_MEMBER(deregMr)
  SLUICE_MEMBER(isend)
  SLUICE_MEMBER(irecv)
  SLUICE_MEMBER(iallreduce)
  SLUICE_MEMBER(iallgather)
  SLUICE_MEMBER(ireducescatter)
  SLUICE_MEMBER(iflush)
  SLUICE_MEMBER(test)
  SLUICE_MEMBER(closeSend)
  SLUICE_MEMBER(closeRecv)
  SLUICE_MEMBER(closeColl)
  SLUICE_MEMBER(closeListen)
  SLUICE_MEMBER(getDeviceMr)
  SLUICE_MEMBER(irecvConsumed)
  SLUICE_MEMBER(makeVDevice)
  SLUICE_MEMBER(finalize)
  SLUICE_MEMBER(setNetAttr)
  return finished<Type>(layout);
}

template <typename Type>
Layout describe_small() {
  Layout layout;
  SLUICE_MEMBER(mhandle)
  SLUICE_MEMBER(address)
  SLUICE_MEMBER(size)
  SLUICE_MEMBER(ndevs)
  SLUICE_MEMBER(devs)
  SLUICE_MEMBER(trafficClass)
  SLUICE_MEMBER(maxConcurrentPeers)
  SLUICE_MEMBER(minConcurrentPeers)
  SLUICE_MEMBER(maxFlowsPerPeer)
  SLUICE_MEMBER(minFlowsPerPeer)
  SLUICE_MEMBER(sendCommAttr)
  SLUICE_MEMBER(recvCommAttr)
  SLUICE_MEMBER(op)
  SLUICE_MEMBER(algo)
  SLUICE_MEMBER(proto)
  return finished<Type>(layout);
}

template <int Version>
void declare_version(Layouts& ours) {
  using Net = typename abi::Abi<Version>::Net;
  using CollNet = typename abi::Abi<Version>::CollNet;
  const auto add = [&](const char* type, const Layout& layout) {
    std::string name = "nccl";
    name.append(type).append("_v").append(std::to_string(Version)).append("_t");
    ours[name] = layout;
  };
  add("Net", describe_table<Net>());
  add("CollNet", describe_table<CollNet>());
  add("NetProperties", describe_properties<typename Net::Properties>());
  static_assert(std::is_same_v<typename Net::Properties, typename CollNet::Properties>);
  if constexpr (Version == 8) add("NetSGE", describe_small<abi::NetSgeV8>());
  if constexpr (Version >= 9) {
    add("NetSGE", describe_small<abi::NetSgeV9>());
    add("NetVDeviceProps", describe_small<typename Net::VirtualDevice>());
  }
  if constexpr (Version >= 10) add("NetCommConfig", describe_small<abi::NetCommConfig>());
  if constexpr (Version >= 11) {
    add("NetCommAttr", describe_small<abi::NetCommAttributes>());
    add("NetAttr", describe_small<abi::NetAttributes>());
  }
}

Layouts declared_layouts() {
  Layouts ours;
  declare_version<6>(ours);
  declare_version<7>(ours);
  declare_version<8>(ours);
  declare_version<9>(ours);
  declare_version<10>(ours);
  declare_version<11>(ours);
  declare_version<12>(ours);
  return ours;
}

// The tuner is not declared yet.
bool is_of_the_tuner(const std::string& type) {
  return type.starts_with("ncclTuner") || type.starts_with("ncclNvlDomainInfo");
}

TEST(AbiLayout, EveryStructIsAsNcclHasIt) {
  Layouts expected = read_layouts(SLUICE_ABI_LAYOUT_FILE);
  std::erase_if(expected, [](const auto& entry) { return is_of_the_tuner(entry.first); });
  ASSERT_GT(expected.size(), 30u);
  const Layouts ours = declared_layouts();
  for (const auto& [type, layout] : expected) {
    const auto found = ours.find(type);
    ASSERT_NE(found, ours.end()) << type << " is not declared";
    EXPECT_EQ(found->second, layout) << type;
  }
  for (const auto& [type, layout] : ours) {
    EXPECT_TRUE(expected.contains(type)) << type << " is not in the file";
  }
}

TEST(AbiLayout, ReaderSeesDifferences) {
  Layouts expected = read_layouts(SLUICE_ABI_LAYOUT_FILE);
  Layout& properties = expected["ncclNetProperties_v12_t"];
  ASSERT_EQ(properties.size, 128u);
  ASSERT_EQ(properties.members.size(), 19u);
  EXPECT_EQ(properties, describe_properties<abi::NetPropertiesV12>());
  properties.members[3].offset += 4;
  EXPECT_NE(properties, describe_properties<abi::NetPropertiesV12>());
}

}  // namespace
}  // namespace sluice::test
