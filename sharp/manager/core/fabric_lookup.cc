// SPDX-License-Identifier: Apache-2.0
// Finding things in the fabric by name, and which switch a host or node is at.
#include <algorithm>

#include "sharp/manager/core/fabric.h"

namespace sluice::manager {

namespace {

constexpr size_t kMostHosts = 1 << 20;  // strangers included: what is asked may not fill memory

template <typename IdType, typename Names>
IdType find_id(const Names& names, std::string_view name) {
  const auto found = names.find(std::string(name));
  return found == names.end() ? IdType{} : IdType{found->second};
}

}  // namespace

SwitchId Fabric::find_switch(std::string_view name_or_alias) const {
  const auto by_name = find_id<SwitchId>(switch_names_, name_or_alias);
  return by_name.valid() ? by_name : find_id<SwitchId>(switch_aliases_, name_or_alias);
}

HostId Fabric::find_host(std::string_view name) const {
  return find_id<HostId>(host_names_, name);
}

NodeId Fabric::find_node(std::string_view address) const {
  return find_id<NodeId>(node_names_, address);
}

std::string Fabric::name_of(SwitchId id) const {
  const Switch& entry = switches_[id.index()];
  if (entry.alias.empty()) return entry.name;
  const bool unique = find_id<SwitchId>(switch_aliases_, entry.alias) == id;
  return unique ? entry.alias : entry.alias + " (" + entry.name + ")";
}

Result<HostId> Fabric::locate(std::string_view host, std::string_view address) {
  if (HostId id = find_host(host); id.valid()) return id;
  if (HostId id = find_host(host.substr(0, host.find('.'))); id.valid()) return id;
  if (!address.empty()) {
    if (HostId id = find_id<HostId>(host_addresses_, address); id.valid()) return id;
  }
  const std::string name(host.empty() ? address : host);
  if (name.empty() || name.size() > 255) {
    return fail(ErrorKind::invalid_argument,
                "a member has neither a host name nor an address, or one that is too long");
  }
  if (hosts_.size() >= kMostHosts) {
    return fail(ErrorKind::refused, format_text("host %s is one too many: %zu hosts are known",
                                                name.c_str(), kMostHosts));
  }
  // The longest prefix that holds the address, else where nodes without a place are.
  SwitchId at;
  unsigned longest = 0;
  if (const auto parsed = parse_ip_address(address)) {
    for (const ServedSubnet& served : subnets_) {
      if (!served.subnet.contains(*parsed) || (at.valid() && served.subnet.prefix() <= longest)) {
        continue;
      }
      at = served.at;
      longest = served.subnet.prefix();
    }
  }
  if (!at.valid()) {
    const SwitchId hub = find_switch(kUnplaced);
    const bool inhabited =
        hub.valid() &&
        std::any_of(nodes_.begin(), nodes_.end(), [&](const Node& node) { return node.at == hub; });
    if (!inhabited) {
      return fail(
          ErrorKind::invalid_argument,
          format_text("host %s is in no topology and no node serves its address %s; add "
                      "it to the topology file, or let its node say that it serves it",
                      name.c_str(), address.empty() ? "(none)" : std::string(address).c_str()));
    }
    at = hub;
  }
  add_host_port({name, std::string(address), kAnyRail, 0, switches_[at.index()].name, 0, true},
                Source::stated);
  const HostId id = find_host(name);
  refresh_attachments(id);
  return id;
}

SwitchId Fabric::switch_of_host(HostId host, uint8_t rail) const {
  if (rail < kMaxRails) return attachment(host, rail);
  for (const auto& of_rail : attachments_) {
    if (of_rail[host.index()].valid()) return of_rail[host.index()];
  }
  return {};
}

// A port of the rail itself goes before one that takes any; of the latter the last told counts.
void Fabric::refresh_attachments(HostId id) {
  const auto& ports = hosts_[id.index()].ports;
  for (unsigned rail = 0; rail < kMaxRails; ++rail) {
    SwitchId& attachment = attachments_[rail][id.index()];
    attachment = {};
    bool exact = false;
    for (const HostPort& port : ports) {
      if (!port.healthy || (port.rail != rail && port.rail != kAnyRail)) continue;
      if (!exact) attachment = port.to;
      exact = exact || port.rail == rail;
    }
  }
}

// Nodes that run on hosts stand where the host's link goes; without one they stay where they were.
void Fabric::refresh_places() {
  for (Node& node : nodes_) {
    if (node.description.at.empty() || find_switch(node.description.at).valid()) continue;
    const HostId host = find_host(node.description.at);
    if (!host.valid()) continue;
    const SwitchId at = switch_of_host(host, node.description.rail);
    if (!at.valid() || at == node.at) continue;
    node.at = at;
    ++topology_revision_;
    ++node_revision_;
  }
}

}  // namespace sluice::manager
