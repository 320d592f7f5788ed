// SPDX-License-Identifier: Apache-2.0
#include "sharp/manager/daemon/manager.h"

#include <algorithm>
#include <utility>

namespace sluice::manager {
namespace {

using sharp::MessageType;

// A lease must not end between two reports.
Duration report_time(Duration lease) {
  return std::min<Duration>(lease / 4, std::chrono::seconds(5));
}

template <typename T, typename Take>
Status pass_on(const sharp::Envelope& message, const Take& take) {
  const auto decoded = sharp::decode<T>(message);
  if (!decoded) return fail(decoded.error());
  take(*decoded);
  return {};
}

}  // namespace

Manager::Manager(const Logger& logger, ManagerSettings settings, Fabric fabric, Store store,
                 Outbox& outbox, TimePoint now)
    : logger_(logger),
      settings_(std::move(settings)),
      start_(now),
      outbox_(outbox),
      fabric_(std::move(fabric)),
      store_(std::move(store)),
      admission_(fabric_, settings_.policy),
      nodes_(logger, fabric_, store_, outbox, report_time(settings_.policy.lease_duration)),
      clients_(logger, fabric_, admission_, nodes_, store_, outbox,
               settings_.policy.lease_duration) {
  clients_.restore(now);
}

Status Manager::on_message(PeerId peer, const std::string& peer_text,
                           const sharp::Envelope& message, TimePoint now) {
  switch (message.type) {
    case MessageType::tree_ask:
      return pass_on<sharp::TreeAsk>(
          message, [&](const auto& ask) { clients_.on_ask(peer, peer_text, ask, now); });
    case MessageType::release:
      return pass_on<sharp::Release>(
          message, [&](const auto& release) { clients_.on_release(peer, release); });
    case MessageType::renew:
      return pass_on<sharp::Renew>(message,
                                   [&](const auto& renew) { clients_.on_renew(peer, renew, now); });
    default:
      return on_node_message(peer, peer_text, message, now);
  }
}

Status Manager::on_node_message(PeerId peer, const std::string& peer_text,
                                const sharp::Envelope& message, TimePoint now) {
  if (message.type == MessageType::node_register) {
    const auto introduction = sharp::decode<sharp::NodeRegister>(message);
    if (!introduction) return fail(introduction.error());
    const auto node = nodes_.on_register(peer, peer_text, *introduction);
    if (!node) {
      SLUICE_WARN(logger_, init, "node %s from %s is not taken: %s", introduction->address.c_str(),
                  peer_text.c_str(), node.error().message.c_str());
      outbox_.send(peer, sharp::NodeRegistered{0, 0, node.error().message});
      outbox_.dismiss(peer, "");
      return {};
    }
    clients_.something_freed();
    return {};
  }
  const auto groups = sharp::decode<sharp::NodeGroups>(message);
  if (!groups) return fail(groups.error());
  SLUICE_RETURN_IF_ERROR(check(*groups));
  NodeId node;
  NodeDesk::Station* station = nodes_.station_of(peer, &node);
  if (station == nullptr) {
    return fail(ErrorKind::remote, "reported groups before it registered");
  }
  if (nodes_.on_groups(*station, node, *groups, now)) {
    const std::string address = fabric_.node(node).description.address;
    clients_.revoke_on(node, sharp::RevokeCode::drained, "node " + address + " is drained");
  }
  clients_.on_groups(node, *groups, now);
  return {};
}

void Manager::on_lost(PeerId peer, const std::string& reason, TimePoint now) {
  nodes_.on_lost(peer, reason);
  clients_.on_lost(peer, now);
}

void Manager::tick(TimePoint now) {
  clients_.tick(now);
}

Result<DrainOutcome> Manager::drain(const std::string& name, bool on) {
  const auto node = nodes_.drain(name, on);
  if (!node) return fail(node.error());
  DrainOutcome outcome;
  outcome.node = fabric_.node(*node).description.address;
  outcome.state = name_of(fabric_.node(*node).state);
  if (on) {
    outcome.groups_asked_to_move = static_cast<uint32_t>(clients_.revoke_on(
        *node, sharp::RevokeCode::drained, "node " + outcome.node + " is drained"));
  } else {
    clients_.something_freed();
  }
  return outcome;
}

}  // namespace sluice::manager
