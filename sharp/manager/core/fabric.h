// SPDX-License-Identifier: Apache-2.0
// The manager's picture of the fabric: switches, hosts on rails, links, aggregation nodes.
//
// Sources are merged: what is named twice is one thing, the later source's figures hold. A node
// that says only whom it serves gets a switch of its own, joined to its uplink; nodes and hosts of
// which nothing is known stand together on one switch called "unplaced". So placement has one kind
// of graph to look at, whatever the source.
// Nothing is ever removed: what is gone is unhealthy or down, so numbers stay valid.
// Thread rule: one thread at a time. Units: bytes, bytes/s.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "sharp/manager/core/fabric_description.h"
#include "sharp/manager/core/ids.h"
#include "sharp/manager/core/subnet.h"

namespace sluice::manager {

// The switch of nodes and hosts whose place nobody tells.
inline constexpr std::string_view kUnplaced = "unplaced";

struct Switch {
  std::string name;
  std::string alias;
};

struct Trunk {
  SwitchId a, b;
  uint16_t a_port = 0, b_port = 0;
  uint64_t rate = 0;
  bool healthy = true;
  bool discovered = false;  // by a sweep of the subnet, which also says when it is gone
  bool presumed = false;    // stands in until a source tells a link of either switch
};

struct HostPort {
  uint8_t rail = 0, plane = 0;
  SwitchId to;
  uint64_t rate = 0;
  bool healthy = true;
  bool discovered = false;
};

struct Host {
  std::string name;
  std::string address;
  std::vector<HostPort> ports;
};

struct Node {
  NodeDescription description;
  SwitchId at;
  NodeState state = NodeState::down;
};

class Fabric {
 public:
  enum class Source {
    stated,  // a file or a registration: adds to what is known
    sweep    // all that a sweep of the subnet sees: what an earlier sweep saw and it does not, is
             // unhealthy now
  };

  Fabric() = default;
  Fabric(const Fabric&) = delete;
  Fabric& operator=(const Fabric&) = delete;
  Fabric(Fabric&&) = default;
  Fabric& operator=(Fabric&&) = default;

  // All or nothing: a description that cannot be right changes nothing. Its nodes become up.
  Status merge(const FabricDescription& description, Source source = Source::stated);
  // A node that registers itself; again after its restart. Draining stays draining.
  Result<NodeId> register_node(const NodeDescription& description);
  // A node of which only the address is known (a lease of before a restart names it): down until it
  // registers.
  NodeId remember_node(std::string_view address);
  // A host of which only the name is known: on no rail until a source tells where it is.
  HostId remember_host(const std::string& name) { return add_host(name, {}); }
  void set_state(NodeId node, NodeState state);
  // Every link between the two (switches, or a host and a switch). false: there is none.
  bool set_link_health(std::string_view a, std::string_view b, bool healthy);

  // Who a member is: by name, its name up to the first dot, its address, or the subnet that a node
  // serves. A stranger is put on the switch "unplaced", if nodes stand there. Else an Error.
  Result<HostId> locate(std::string_view host, std::string_view address = {});
  // The switch of a host on a rail, by a healthy link; none if there is no such.
  SwitchId attachment(HostId host, unsigned rail) const { return attachments_[rail][host.index()]; }
  // All hosts' at once.
  std::span<const SwitchId> attachments(unsigned rail) const { return attachments_[rail]; }

  SwitchId find_switch(std::string_view name_or_alias) const;
  HostId find_host(std::string_view name) const;
  NodeId find_node(std::string_view address) const;
  std::span<const Switch> switches() const { return switches_; }
  std::span<const Host> hosts() const { return hosts_; }
  std::span<const Trunk> trunks() const { return trunks_; }
  std::span<const Node> nodes() const { return nodes_; }
  const Node& node(NodeId id) const { return nodes_[id.index()]; }
  const Host& host(HostId id) const { return hosts_[id.index()]; }
  const Switch& switch_at(SwitchId id) const { return switches_[id.index()]; }
  // "leaf3" or, where the alias is not unique, "leaf3 (S-0002c90200408000)".
  std::string name_of(SwitchId id) const;

  // Counts changes after which ways and distances are to be computed anew, and changes of a node's
  // state, capacity or place.
  uint64_t topology_revision() const { return topology_revision_; }
  uint64_t node_revision() const { return node_revision_; }

 private:
  using Names = std::unordered_map<std::string, uint32_t>;
  struct ServedSubnet {
    Subnet subnet;
    SwitchId at;
  };

  Status check(const FabricDescription& description) const;
  SwitchId add_switch(const std::string& name, const std::string& alias);
  HostId add_host(const std::string& name, const std::string& address);
  void add_trunk(const TrunkDescription& trunk, Source source);
  void add_host_port(const HostPortDescription& port, Source source);
  NodeId add_node(const NodeDescription& description);
  SwitchId place(const NodeDescription& description);
  void resolve_uplinks();
  void presume_trunk(SwitchId at);
  void forget_presumed(SwitchId at);
  SwitchId switch_of_host(HostId host, uint8_t rail) const;
  void refresh_attachments(HostId host);
  void refresh_places();
  std::vector<bool> health() const;

  std::vector<Switch> switches_;
  std::vector<Host> hosts_;
  std::array<std::vector<SwitchId>, kMaxRails> attachments_;  // by rail, then host: kept dense
  std::vector<Trunk> trunks_;
  std::vector<Node> nodes_;
  std::vector<ServedSubnet> subnets_;
  std::vector<NodeId> uplink_unresolved_;
  Names switch_names_, switch_aliases_, host_names_, host_addresses_, node_names_;
  std::unordered_map<uint64_t, std::vector<uint32_t>> trunks_of_pair_;
  size_t presumed_trunks_ = 0;
  uint64_t topology_revision_ = 1;
  uint64_t node_revision_ = 1;
};

}  // namespace sluice::manager
