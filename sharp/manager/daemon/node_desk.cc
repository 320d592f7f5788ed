// SPDX-License-Identifier: Apache-2.0
#include "sharp/manager/daemon/node_desk.h"

#include <algorithm>

namespace sluice::manager {
namespace {

using sharp::NodeCommand;
using sharp::NodeOrder;

constexpr size_t kMaxNodes = size_t{1} << 16;

// "0.0.0.0:7654" or ":7654" says that the node does not know how others reach it.
std::string reachable_address(const std::string& named, const std::string& peer) {
  const size_t colon = named.rfind(':');
  if (colon == std::string::npos) return named;
  const std::string host = named.substr(0, colon);
  const bool anywhere = host.empty() || host == "0.0.0.0" || host == "[::]" || host == "*";
  return anywhere ? host_of_peer(peer) + named.substr(colon) : named;
}

NodeDescription description_of(const sharp::NodeRegister& message, const std::string& address) {
  NodeDescription node;
  node.address = address;
  node.at = message.at;
  node.serves = message.serves;
  node.uplink = message.uplink;
  node.rail = message.rail;
  node.roles = message.roles;
  node.fan_in = message.fan_in;
  node.capacity = {message.groups, message.memory, message.bandwidth};
  return node;
}

}  // namespace

std::string host_of_peer(std::string_view peer) {
  const std::string_view address = peer.substr(0, peer.find(' '));
  return std::string(address.substr(0, address.rfind(':')));
}

Result<NodeId> NodeDesk::on_register(PeerId peer, const std::string& peer_text,
                                     const sharp::NodeRegister& message) {
  SLUICE_RETURN_IF_ERROR(check(message));
  const std::string address = reachable_address(message.address, peer_text);
  if (fabric_.nodes().size() >= kMaxNodes && !fabric_.find_node(address).valid()) {
    return fail(ErrorKind::refused, format_text("there are %zu nodes already", kMaxNodes));
  }
  const auto node = fabric_.register_node(description_of(message, address));
  if (!node) return fail(node.error());
  Station& station = stations_[node->value];
  if (station.peer != 0 && station.peer != peer) {
    nodes_of_peers_.erase(station.peer);
    outbox_.dismiss(station.peer, "node " + address + " has registered again from " + peer_text);
  }
  station = Station{peer, message.name, message.draining != 0, {}, {}};
  nodes_of_peers_[peer] = *node;
  outbox_.send(peer,
               sharp::NodeRegistered{
                   1,
                   static_cast<uint32_t>(
                       std::chrono::duration_cast<std::chrono::milliseconds>(report_time_).count()),
                   address});
  if (store_.state().draining.contains(address)) {
    outbox_.send(peer, NodeCommand{NodeOrder::drain, {}, 0, "as was ordered before"});
  }
  refresh_state(*node);
  SLUICE_INFO(logger_, init, "node %s%s%s registered from %s, %s", address.c_str(),
              message.name.empty() ? "" : " ", message.name.c_str(), peer_text.c_str(),
              name_of(fabric_.node(*node).state));
  return *node;
}

NodeDesk::Station* NodeDesk::station_of(PeerId peer, NodeId* node) {
  const auto found = nodes_of_peers_.find(peer);
  if (found == nodes_of_peers_.end()) return nullptr;
  *node = found->second;
  return &stations_[found->second.value];
}

bool NodeDesk::on_groups(Station& station, NodeId node, const sharp::NodeGroups& message,
                         TimePoint now) {
  station.reported = now;
  station.groups.clear();
  for (const auto& group : message.groups) {
    const auto [known, fresh] = station.groups.emplace(group.group, group.epoch);
    if (!fresh) known->second = std::min(known->second, group.epoch);
  }
  const bool drains = message.draining != 0;
  if (station.own_drain == drains) return false;
  station.own_drain = drains;
  refresh_state(node);
  return drains;
}

void NodeDesk::on_lost(PeerId peer, const std::string& reason) {
  const auto found = nodes_of_peers_.find(peer);
  if (found == nodes_of_peers_.end()) return;
  const NodeId node = found->second;
  nodes_of_peers_.erase(found);
  Station& station = stations_[node.value];
  station.peer = 0;
  station.groups.clear();
  refresh_state(node);
  SLUICE_WARN(logger_, init, "node %s gets no new trees until it registers again: %s",
              fabric_.node(node).description.address.c_str(), reason.c_str());
}

// A node that a file names and that never registered is taken to be there.
void NodeDesk::refresh_state(NodeId node) {
  const auto found = stations_.find(node.value);
  const bool away = found != stations_.end() && found->second.peer == 0;
  const bool own_drain = found != stations_.end() && found->second.own_drain;
  const NodeState state = away                         ? NodeState::down
                          : own_drain || drained(node) ? NodeState::draining
                                                       : NodeState::up;
  if (fabric_.node(node).state != state) fabric_.set_state(node, state);
}

bool NodeDesk::drained(NodeId node) const {
  return store_.state().draining.contains(fabric_.node(node).description.address);
}

NodeId NodeDesk::find_node(std::string_view address_or_name) const {
  const NodeId node = fabric_.find_node(address_or_name);
  if (node.valid()) return node;
  for (const auto& [value, station] : stations_) {
    if (!station.name.empty() && station.name == address_or_name) return NodeId{value};
  }
  return {};
}

Result<NodeId> NodeDesk::drain(std::string_view name, bool on) {
  const NodeId node = find_node(name);
  if (!node.valid()) {
    return fail(ErrorKind::invalid_argument,
                "no node is called " + std::string(name) + ": see sluice status");
  }
  store_.drain(fabric_.node(node).description.address, on);
  const auto found = stations_.find(node.value);
  if (found != stations_.end() && found->second.peer != 0) {
    if (!on) found->second.own_drain = false;
    outbox_.send(
        found->second.peer,
        NodeCommand{on ? NodeOrder::drain : NodeOrder::serve, {}, 0, "by order of an operator"});
  }
  refresh_state(node);
  SLUICE_INFO(logger_, init, "node %s %s", fabric_.node(node).description.address.c_str(),
              on ? "is drained" : "is in service again");
  return node;
}

bool NodeDesk::runs(const std::vector<NodeId>& nodes, const GroupId& group, uint32_t epoch) const {
  return std::any_of(nodes.begin(), nodes.end(), [&](NodeId node) {
    const auto station = stations_.find(node.value);
    if (station == stations_.end()) return false;
    const auto running = station->second.groups.find(group);
    return running != station->second.groups.end() && running->second <= epoch;
  });
}

bool NodeDesk::runs_anywhere(const GroupId& group) const {
  return std::any_of(stations_.begin(), stations_.end(),
                     [&](const auto& entry) { return entry.second.groups.contains(group); });
}

void NodeDesk::order_end(NodeId node, const GroupId& group, uint32_t epoch,
                         const std::string& sentence) {
  const auto found = stations_.find(node.value);
  if (found == stations_.end() || found->second.peer == 0) return;
  outbox_.send(found->second.peer, NodeCommand{NodeOrder::end_group, group, epoch, sentence});
}

const NodeDesk::Station* NodeDesk::find(NodeId node) const {
  const auto found = stations_.find(node.value);
  return found == stations_.end() ? nullptr : &found->second;
}

}  // namespace sluice::manager
