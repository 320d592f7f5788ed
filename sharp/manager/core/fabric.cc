// SPDX-License-Identifier: Apache-2.0
// How descriptions become part of the fabric. Looking things up: fabric_lookup.cc.
#include "sharp/manager/core/fabric.h"

#include <algorithm>
#include <set>

namespace sluice::manager {

namespace {

constexpr size_t kLongestName = 255;

Status check_name(const char* what, const std::string& name) {
  if (name.empty()) return fail(ErrorKind::invalid_argument, format_text("a %s has no name", what));
  if (name.size() > kLongestName) {
    return fail(ErrorKind::invalid_argument,
                format_text("the name of %s %.40s... is longer than %zu characters", what,
                            name.c_str(), kLongestName));
  }
  return {};
}

Status check_rail(const std::string& whose, uint8_t rail) {
  if (rail == kAnyRail || rail < kMaxRails) return {};
  return fail(
      ErrorKind::invalid_argument,
      format_text("rail %u of %s: rails are 0..%u", unsigned{rail}, whose.c_str(), kMaxRails - 1));
}

Status check_node(const NodeDescription& node) {
  SLUICE_RETURN_IF_ERROR(check_name("node", node.address));
  SLUICE_RETURN_IF_ERROR(check_rail("node " + node.address, node.rail));
  if (node.fan_in < 2 || node.fan_in > 64) {
    return fail(ErrorKind::invalid_argument,
                format_text("node %s takes %u children in a group: 2..64 are possible",
                            node.address.c_str(), unsigned{node.fan_in}));
  }
  if (node.roles == 0 || node.roles > kAllRoles) {
    return fail(ErrorKind::invalid_argument,
                format_text("node %s has no role", node.address.c_str()));
  }
  for (const std::string& served : node.serves) {
    SLUICE_RETURN_IF_ERROR(check_name("host that a node serves", served));
    if (served.find('/') != std::string::npos && !Subnet::parse(served)) {
      return fail(ErrorKind::invalid_argument, format_text("node %s serves %s, which is no subnet",
                                                           node.address.c_str(), served.c_str()));
    }
  }
  return {};
}

uint64_t pair_key(SwitchId a, SwitchId b) {
  return uint64_t{std::min(a.value, b.value)} << 32 | std::max(a.value, b.value);
}

// The same cable, seen from either end; without port numbers any link of the pair is meant.
bool same_trunk(const Trunk& known, SwitchId a, const TrunkDescription& told) {
  const bool numbered = told.a_port != 0 || told.b_port != 0;
  if (!numbered || (known.a_port == 0 && known.b_port == 0)) return true;
  return known.a == a ? known.a_port == told.a_port && known.b_port == told.b_port
                      : known.a_port == told.b_port && known.b_port == told.a_port;
}

}  // namespace

const char* name_of(NodeState state) {
  switch (state) {
    case NodeState::up:
      return "up";
    case NodeState::draining:
      return "draining";
    case NodeState::down:
      return "down";
  }
  return "unknown";
}

Status Fabric::check(const FabricDescription& description) const {
  for (const auto& entry : description.switches) {
    SLUICE_RETURN_IF_ERROR(check_name("switch", entry.name));
  }
  for (const auto& port : description.host_ports) {
    SLUICE_RETURN_IF_ERROR(check_name("host", port.host));
    SLUICE_RETURN_IF_ERROR(check_name("switch", port.to_switch));
    SLUICE_RETURN_IF_ERROR(check_rail("host " + port.host, port.rail));
  }
  for (const auto& trunk : description.trunks) {
    SLUICE_RETURN_IF_ERROR(check_name("switch", trunk.a));
    SLUICE_RETURN_IF_ERROR(check_name("switch", trunk.b));
    if (trunk.a == trunk.b) {
      return fail(ErrorKind::invalid_argument,
                  format_text("switch %s is linked to itself", trunk.a.c_str()));
    }
  }
  std::set<std::string_view> addresses;
  for (const auto& node : description.nodes) {
    SLUICE_RETURN_IF_ERROR(check_node(node));
    if (!addresses.insert(node.address).second) {
      return fail(ErrorKind::invalid_argument,
                  format_text("node %s is there twice", node.address.c_str()));
    }
  }
  return {};
}

Status Fabric::merge(const FabricDescription& description, Source source) {
  SLUICE_RETURN_IF_ERROR(check(description));
  const std::vector<bool> before = health();
  const size_t switches_before = switches_.size();
  if (source == Source::sweep) {
    for (Trunk& trunk : trunks_) trunk.healthy = trunk.healthy && !trunk.discovered;
    for (Host& host : hosts_) {
      for (HostPort& port : host.ports) port.healthy = port.healthy && !port.discovered;
    }
  }
  for (const auto& entry : description.switches) add_switch(entry.name, entry.alias);
  for (const auto& port : description.host_ports) add_host_port(port, source);
  for (const auto& trunk : description.trunks) add_trunk(trunk, source);
  const bool ports_changed = source == Source::sweep || !description.host_ports.empty();
  for (uint32_t host = 0; ports_changed && host < hosts_.size(); ++host) {
    refresh_attachments(HostId{host});
  }
  for (const auto& node : description.nodes) add_node(node);
  resolve_uplinks();
  refresh_places();
  if (switches_.size() != switches_before || health() != before) ++topology_revision_;
  return {};
}

Result<NodeId> Fabric::register_node(const NodeDescription& description) {
  FabricDescription one;
  one.nodes.push_back(description);
  SLUICE_RETURN_IF_ERROR(merge(one));
  return find_node(description.address);
}

NodeId Fabric::remember_node(std::string_view address) {
  if (const NodeId known = find_node(address); known.valid()) return known;
  const NodeId id{static_cast<uint32_t>(nodes_.size())};
  nodes_.push_back({});
  nodes_.back().description.address = address;
  node_names_.emplace(address, id.value);
  ++node_revision_;
  return id;
}

void Fabric::set_state(NodeId node, NodeState state) {
  if (nodes_[node.index()].state == state) return;
  nodes_[node.index()].state = state;
  ++node_revision_;
}

bool Fabric::set_link_health(std::string_view a, std::string_view b, bool healthy) {
  if (!find_switch(b).valid()) std::swap(a, b);
  const SwitchId to = find_switch(b);
  if (!to.valid()) return false;
  bool found = false;
  if (const SwitchId from = find_switch(a); from.valid()) {
    const auto pair = trunks_of_pair_.find(pair_key(from, to));
    if (pair == trunks_of_pair_.end()) return false;
    for (const uint32_t trunk : pair->second) trunks_[trunk].healthy = healthy;
    found = !pair->second.empty();
  } else if (const HostId host = find_host(a); host.valid()) {
    for (HostPort& port : hosts_[host.index()].ports) {
      if (port.to != to) continue;
      port.healthy = healthy;
      found = true;
    }
    refresh_attachments(host);
    refresh_places();
  }
  if (found) ++topology_revision_;
  return found;
}

SwitchId Fabric::add_switch(const std::string& name, const std::string& alias) {
  SwitchId id = find_switch(name);
  if (const auto known = switch_names_.find(alias); !id.valid() && known != switch_names_.end()) {
    id = SwitchId{known->second};  // a file called it by its alias
    switch_names_.emplace(name, id.value);
  }
  if (!id.valid()) {
    id = SwitchId{static_cast<uint32_t>(switches_.size())};
    switches_.push_back({name, {}});
    switch_names_.emplace(name, id.value);
  }
  Switch& entry = switches_[id.index()];
  if (!alias.empty() && entry.alias != alias && alias != name) {
    entry.alias = alias;
    const auto [known, fresh] = switch_aliases_.emplace(alias, id.value);
    if (!fresh && known->second != id.value) known->second = SwitchId::kNone;  // names nobody
  }
  return id;
}

HostId Fabric::add_host(const std::string& name, const std::string& address) {
  HostId id = find_host(name);
  if (!id.valid()) {
    id = HostId{static_cast<uint32_t>(hosts_.size())};
    hosts_.push_back({name, {}, {}});
    for (auto& rail : attachments_) rail.emplace_back();
    host_names_.emplace(name, id.value);
  }
  if (!address.empty()) {
    hosts_[id.index()].address = address;
    host_addresses_[address] = id.value;
  }
  return id;
}

void Fabric::add_host_port(const HostPortDescription& port, Source source) {
  const SwitchId to = add_switch(port.to_switch, {});
  Host& host = hosts_[add_host(port.host, port.address).index()];
  const auto known = std::find_if(host.ports.begin(), host.ports.end(), [&](const HostPort& other) {
    return other.rail == port.rail && other.plane == port.plane && other.to == to;
  });
  HostPort& entry = known == host.ports.end() ? host.ports.emplace_back() : *known;
  entry.rail = port.rail;
  entry.plane = port.plane;
  entry.to = to;
  entry.healthy = port.healthy;
  if (port.rate != 0) entry.rate = port.rate;
  if (source == Source::sweep) entry.discovered = true;
}

void Fabric::add_trunk(const TrunkDescription& told, Source source) {
  const SwitchId a = add_switch(told.a, {});
  const SwitchId b = add_switch(told.b, {});
  if (a == b) return;  // a name and an alias of one switch
  forget_presumed(a);
  forget_presumed(b);
  auto& pair = trunks_of_pair_[pair_key(a, b)];
  const auto known = std::find_if(pair.begin(), pair.end(), [&](uint32_t index) {
    return !trunks_[index].presumed && same_trunk(trunks_[index], a, told);
  });
  if (known == pair.end()) {
    pair.push_back(static_cast<uint32_t>(trunks_.size()));
    trunks_.push_back(
        {a, b, told.a_port, told.b_port, told.rate, told.healthy, source == Source::sweep, false});
    return;
  }
  Trunk& entry = trunks_[*known];
  entry.healthy = told.healthy;
  if (told.rate != 0) entry.rate = told.rate;
  if (source == Source::sweep) entry.discovered = true;
}

NodeId Fabric::add_node(const NodeDescription& description) {
  const NodeId id = remember_node(description.address);
  const SwitchId at = place(description);
  Node& node = nodes_[id.index()];
  if (node.at != at) ++topology_revision_;
  node.description = description;
  if (description.capacity.bandwidth == 0) {
    node.description.capacity.bandwidth = kUnlimitedBandwidth;
  }
  node.at = at;
  if (node.state == NodeState::down) node.state = NodeState::up;
  ++node_revision_;
  if (!description.uplink.empty() && std::find(uplink_unresolved_.begin(), uplink_unresolved_.end(),
                                               id) == uplink_unresolved_.end()) {
    uplink_unresolved_.push_back(id);
  }
  return id;
}

SwitchId Fabric::place(const NodeDescription& description) {
  if (!description.at.empty()) {
    if (const SwitchId at = find_switch(description.at); at.valid()) return at;
    if (const HostId host = find_host(description.at); host.valid()) {
      if (const SwitchId at = switch_of_host(host, description.rail); at.valid()) return at;
    }
  }
  if (description.at.empty() && description.serves.empty() && description.uplink.empty()) {
    return add_switch(std::string(kUnplaced), {});
  }
  // Nothing is known of its surroundings: a switch of its own (or one that others name as well).
  const SwitchId at =
      add_switch(description.at.empty() ? "at " + description.address : description.at, {});
  presume_trunk(at);
  for (const std::string& served : description.serves) {
    if (const auto subnet = Subnet::parse(served)) {
      const bool known = std::any_of(subnets_.begin(), subnets_.end(), [&](const auto& other) {
        return other.subnet == *subnet && other.at == at;
      });
      if (!known) subnets_.push_back({*subnet, at});
    } else {
      add_host_port({served, {}, description.rail, 0, switches_[at.index()].name, 0, true},
                    Source::stated);
      refresh_attachments(find_host(served));
    }
  }
  return at;
}

// An uplink may name a node that registers later.
void Fabric::resolve_uplinks() {
  std::erase_if(uplink_unresolved_, [&](NodeId id) {
    const Node& node = nodes_[id.index()];
    SwitchId above = find_switch(node.description.uplink);
    if (!above.valid()) {
      const NodeId parent = find_node(node.description.uplink);
      if (parent.valid()) above = nodes_[parent.index()].at;
    }
    if (!above.valid()) return false;
    if (above == node.at) return true;
    const size_t before = trunks_.size();
    add_trunk({switches_[node.at.index()].name, switches_[above.index()].name}, Source::stated);
    if (trunks_.size() != before) ++topology_revision_;
    return true;
  });
}

// A switch without known links is taken to be reachable by way of "unplaced".
void Fabric::presume_trunk(SwitchId at) {
  const bool linked = std::any_of(trunks_.begin(), trunks_.end(), [&](const Trunk& trunk) {
    return trunk.a == at || trunk.b == at;
  });
  const SwitchId hub = add_switch(std::string(kUnplaced), {});
  if (linked || at == hub) return;
  trunks_of_pair_[pair_key(at, hub)].push_back(static_cast<uint32_t>(trunks_.size()));
  trunks_.push_back({at, hub, 0, 0, 0, true, false, true});
  ++presumed_trunks_;
}

void Fabric::forget_presumed(SwitchId at) {
  if (presumed_trunks_ == 0 || switches_[at.index()].name == kUnplaced) return;
  for (Trunk& trunk : trunks_) {
    if (trunk.presumed && trunk.a == at) trunk.healthy = false;
  }
}

std::vector<bool> Fabric::health() const {
  std::vector<bool> all;
  for (const Trunk& trunk : trunks_) all.push_back(trunk.healthy);
  for (const Host& host : hosts_) {
    for (const HostPort& port : host.ports) all.push_back(port.healthy);
  }
  return all;
}

}  // namespace sluice::manager
