// SPDX-License-Identifier: Apache-2.0
// A fabric as a source tells it (ibnetdiscover, a topology file, a node that registers itself):
// plain data, by name. Fabric::merge takes any number of them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sharp/manager/core/amounts.h"

namespace sluice::manager {

inline constexpr unsigned kMaxRails = 16;
inline constexpr uint8_t kAnyRail = 0xff;
inline constexpr uint64_t kUnlimitedBandwidth = UINT64_MAX / 4;  // sums of some stay in 64 bits

enum class NodeState : uint8_t { up, draining, down };
const char* name_of(NodeState state);

// Where in a tree a node may stand.
enum Role : uint8_t { kLeafRole = 1, kInnerRole = 2, kRootRole = 4, kAllRoles = 7 };

struct SwitchDescription {
  std::string name;   // unique: a GUID, or the site's name
  std::string alias;  // what people call it; found by it if no other switch has it; may be empty
};

// A port of a host and the switch at its other end.
struct HostPortDescription {
  std::string host;
  std::string address;  // IP address, may be empty
  uint8_t rail = 0;     // kAnyRail: whatever rail is asked for
  uint8_t plane = 0;
  std::string to_switch;
  uint64_t rate = 0;  // bytes/s; 0: unknown
  bool healthy = true;
};

// A link between switches. Ports tell parallel links apart; 0: not known.
struct TrunkDescription {
  std::string a, b;
  uint16_t a_port = 0, b_port = 0;
  uint64_t rate = 0;
  bool healthy = true;
};

struct NodeDescription {
  std::string address;              // "10.0.0.1:7654": its name
  std::string at;                   // a switch, or a host it runs on; empty: not known
  std::vector<std::string> serves;  // hosts and subnets ("10.1.0.0/16"), where `at` is not known
  std::string uplink;               // switch, or address of a node, above it; may be empty
  uint8_t rail = kAnyRail;          // the only rail it takes
  uint8_t roles = kAllRoles;
  uint16_t fan_in = 64;  // most children in one group
  Amounts capacity;      // bandwidth 0: unlimited
};

struct FabricDescription {
  std::vector<SwitchDescription> switches;
  std::vector<HostPortDescription> host_ports;
  std::vector<TrunkDescription> trunks;
  std::vector<NodeDescription> nodes;
};

}  // namespace sluice::manager
