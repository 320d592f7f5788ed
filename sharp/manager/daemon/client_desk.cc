// SPDX-License-Identifier: Apache-2.0
// What clients ask and are answered. How leases end and trees are cleared: lease_watch.cc.
#include "sharp/manager/daemon/client_desk.h"

#include <algorithm>

namespace sluice::manager {
namespace {

using sharp::RevokeCode;

// What strangers can make the manager remember for good.
constexpr size_t kMaxHosts = size_t{1} << 18;
constexpr size_t kMaxTenants = size_t{1} << 16;
constexpr uint32_t kRetryMilliseconds = 5000;
// How long those who lose their tree have to leave it, before the nodes are told to end them, and
// before the winner gets it anyhow.
constexpr auto kTimeToLeave = std::chrono::milliseconds(1500);
constexpr auto kTimeToBeEnded = std::chrono::seconds(2);

unsigned long long printable(LeaseId lease) {
  return static_cast<unsigned long long>(lease.number());
}

std::vector<NodeId> nodes_of(const Lease& lease) {
  std::vector<NodeId> nodes;
  for (const Holding& holding : lease.holdings) nodes.push_back(holding.node);
  return nodes;
}

}  // namespace

void ClientDesk::restore(TimePoint now) {
  Snapshot snapshot;
  const StoredState& stored = store_.state();
  snapshot.generation = stored.generation;
  snapshot.draining.assign(stored.draining.begin(), stored.draining.end());
  for (const auto& [number, lease] : stored.leases) {
    snapshot.leases.push_back(lease.lease);
    clients_[number].tree_epoch = lease.client_epoch;
  }
  if (const Status restored = admission_.restore(snapshot, fabric_, now); !restored) {
    SLUICE_WARN(logger_, init, "%s: it is left out", restored.error().message.c_str());
  }
  std::vector<uint64_t> lost;
  for (const auto& [number, lease] : stored.leases) {
    if (admission_.find(LeaseId::of(number)) == nullptr) lost.push_back(number);
  }
  for (const uint64_t number : lost) forget(LeaseId::of(number));
  // Who was asked to move before the restart and did not hear it.
  for (const std::string& address : stored.draining) {
    const NodeId node = fabric_.find_node(address);
    if (node.valid()) revoke_on(node, RevokeCode::drained, "node " + address + " is drained");
  }
}

Result<Request> ClientDesk::request_of(const sharp::TreeAsk& ask) {
  SLUICE_RETURN_IF_ERROR(check(ask));
  if (tenants_.size() >= kMaxTenants && !tenants_.contains(ask.tenant)) {
    return fail(ErrorKind::refused, format_text("there are %zu tenants already", kMaxTenants));
  }
  tenants_.insert(ask.tenant);
  Request request;
  request.group = ask.group;
  request.job = ask.job;
  request.tenant = admission_.tenant(ask.tenant);
  request.priority = ask.priority;
  request.exclusive = ask.exclusive != 0;
  request.rails = {ask.rail};
  request.chunk_bytes = ask.chunk_bytes;
  request.window_bytes = uint64_t{ask.window} * ask.chunk_bytes;
  request.least_window_bytes = ask.chunk_bytes;
  request.latency_bytes = ask.latency_slot_bytes;
  for (const sharp::HostRanks& host : ask.members) {
    if (fabric_.hosts().size() >= kMaxHosts && !fabric_.find_host(host.host).valid()) {
      return fail(ErrorKind::refused, format_text("there are %zu hosts already", kMaxHosts));
    }
    const auto located = fabric_.locate(host.host, host.host);
    if (!located) return fail(located.error());
    request.members.insert(request.members.end(), host.ranks, *located);
  }
  for (const std::string& address : ask.avoid) {
    const NodeId node = fabric_.find_node(address);
    if (node.valid()) request.avoid.push_back(node);
  }
  return request;
}

Decision ClientDesk::decide(const Request& request, uint32_t epoch, TimePoint now) {
  const Lease* held = admission_.find(request.group);
  if (held != nullptr && held->request.job == request.job) {
    if (held->adopted) {
      // Only nodes have told of it so far; now its owner does, who knows more.
      const LeaseId adopted = held->id;
      admission_.release(adopted);
      forget(adopted);
    } else if (held->request.tenant == request.tenant &&
               clients_[held->id.number()].tree_epoch != epoch) {
      return admission_.reform(held->id, request.avoid, now);
    }
  }
  return admission_.admit(request, now);
}

void ClientDesk::on_ask(PeerId peer, const std::string& peer_text, const sharp::TreeAsk& ask,
                        TimePoint now) {
  const std::string asker = ask.asker.empty() ? peer_text : ask.asker;
  const auto request = request_of(ask);
  if (!request) return deny(peer, ask, {}, Reason::bad_request, request.error().message);
  const Decision decision = decide(*request, ask.epoch, now);
  if (decision.granted()) return grant(peer, asker, ask, decision, now);
  const Lease* held = admission_.find(ask.group);
  const bool own = held != nullptr && decision.denial.reason != Reason::duplicate_group;
  const LeaseId kept = own ? held->id : LeaseId{};
  if (own) hold_without_tree(kept, peer, asker, ask.epoch);
  deny(peer, ask, kept, decision.denial.reason, admission_.sentence(decision.denial));
}

void ClientDesk::hold_without_tree(LeaseId lease, PeerId peer, const std::string& asker,
                                   uint32_t epoch) {
  clients_[lease.number()] = Client{peer, asker, epoch, {}, "", {}};
  leases_of_peers_[peer].insert(lease.number());
  keep(lease);
  something_freed();
}

void ClientDesk::deny(PeerId peer, const sharp::TreeAsk& ask, LeaseId kept, Reason reason,
                      const std::string& sentence) {
  ++counts_.denied;
  SLUICE_INFO(logger_, collective, "no tree for group %s of job %s: %s (%s)",
              sharp::text_of(ask.group).c_str(), ask.job.c_str(), sentence.c_str(),
              name_of(reason));
  outbox_.send(peer,
               sharp::TreeDenied{ask.request, kept.valid() ? kept.number() : 0,
                                 static_cast<uint16_t>(reason), kRetryMilliseconds, sentence});
}

void ClientDesk::grant(PeerId peer, const std::string& asker, const sharp::TreeAsk& ask,
                       const Decision& decision, TimePoint now) {
  const Lease& lease = *admission_.find(decision.lease);
  Client& client = clients_[decision.lease.number()];
  client = Client{peer, asker, ask.epoch, {}, "", {}};
  leases_of_peers_[peer].insert(decision.lease.number());
  ++counts_.granted;
  Pending pending{peer,
                  message_of(lease, ask.request),
                  nodes_of(lease),
                  {},
                  now + kTimeToLeave,
                  now + kTimeToBeEnded,
                  false};
  for (const LeaseId loser : decision.preempted) {
    ++counts_.preempted;
    const Lease* lost = admission_.find(loser);
    if (lost == nullptr) continue;
    const uint32_t epoch = clients_[loser.number()].tree_epoch;
    pending.losers.emplace_back(lost->request.group, epoch != 0 ? epoch : UINT32_MAX);
    revoke(
        loser, RevokeCode::preempted,
        format_text("job %s of tenant %s has priority %u over %u", lease.request.job.c_str(),
                    ask.tenant.c_str(), unsigned{ask.priority}, unsigned{lost->request.priority}));
    keep(loser);
  }
  keep(decision.lease);
  SLUICE_INFO(logger_, collective,
              "lease %llu for group %s of job %s, tenant %s, %zu ranks: %zu nodes, asked by %s",
              printable(decision.lease), sharp::text_of(ask.group).c_str(), ask.job.c_str(),
              ask.tenant.c_str(), lease.request.members.size(), pending.nodes.size(),
              asker.c_str());
  pending_.push_back(std::move(pending));
  settle_pending(now);
}

sharp::TreeGrant ClientDesk::message_of(const Lease& lease, uint64_t request) const {
  sharp::TreeGrant grant;
  grant.request = request;
  grant.lease = lease.id.number();
  grant.lease_ms = static_cast<uint32_t>(
      std::chrono::duration_cast<std::chrono::milliseconds>(lease_time_).count());
  grant.window = lease.window_chunks();
  const Tree& tree = lease.trees.front();
  for (const TreeNode& node : tree.nodes) {
    grant.nodes.push_back({fabric_.node(node.node).description.address, node.parent, {}});
  }
  for (size_t rank = 0; rank < tree.leaf_of_rank.size(); ++rank) {
    auto& ranges = grant.nodes[tree.leaf_of_rank[rank]].ranks;
    if (!ranges.empty() && size_t{ranges.back().first} + ranges.back().count == rank) {
      ++ranges.back().count;
    } else {
      ranges.push_back({static_cast<uint16_t>(rank), 1});
    }
  }
  return grant;
}

void ClientDesk::on_release(PeerId peer, const sharp::Release& message) {
  const LeaseId lease = LeaseId::of(message.lease);
  const auto client = clients_.find(message.lease);
  // Only whoever holds it may end it.
  if (client == clients_.end() || client->second.peer != peer) return;
  if (!admission_.release(lease)) return;
  ++counts_.released;
  SLUICE_INFO(logger_, collective, "lease %llu released by %s", printable(lease),
              client->second.name.c_str());
  forget(lease);
}

void ClientDesk::on_renew(PeerId peer, const sharp::Renew& message, TimePoint now) {
  const Lease* lease = admission_.find(message.group);
  const auto milliseconds = static_cast<uint32_t>(
      std::chrono::duration_cast<std::chrono::milliseconds>(lease_time_).count());
  if (lease == nullptr) {
    outbox_.send(peer, sharp::Renewed{message.group, 0, milliseconds});
    return;
  }
  admission_.renew(lease->id, now);
  Client& client = clients_[lease->id.number()];
  if (client.peer != peer) {
    client.peer = peer;
    leases_of_peers_[peer].insert(lease->id.number());
  }
  client.lost = {};
  if (client.tree_epoch == 0) client.tree_epoch = message.epoch;
  outbox_.send(peer, sharp::Renewed{message.group, lease->id.number(), milliseconds});
  if (!client.revoked.empty()) {
    outbox_.send(peer, sharp::Revoke{lease->id.number(), client.revoke_code, client.revoked});
  }
}

void ClientDesk::on_lost(PeerId peer, TimePoint now) {
  const auto found = leases_of_peers_.find(peer);
  if (found == leases_of_peers_.end()) return;
  for (const uint64_t number : found->second) {
    const auto client = clients_.find(number);
    if (client == clients_.end() || client->second.peer != peer) continue;
    client->second.peer = 0;
    client->second.lost = now;
  }
  leases_of_peers_.erase(found);
  std::erase_if(pending_, [&](const Pending& pending) { return pending.peer == peer; });
}

size_t ClientDesk::revoke_on(NodeId node, RevokeCode code, const std::string& sentence) {
  const std::vector<LeaseId> leases = admission_.leases_on(node);
  for (const LeaseId lease : leases) revoke(lease, code, sentence);
  return leases.size();
}

void ClientDesk::revoke(LeaseId lease, RevokeCode code, const std::string& sentence) {
  Client& client = clients_[lease.number()];
  client.revoked = sentence;
  client.revoke_code = code;
  SLUICE_INFO(logger_, collective, "lease %llu of %s loses its tree: %s", printable(lease),
              client.name.empty() ? "a client that is not connected" : client.name.c_str(),
              sentence.c_str());
  if (client.peer != 0) outbox_.send(client.peer, sharp::Revoke{lease.number(), code, sentence});
}

void ClientDesk::keep(LeaseId lease) {
  const Lease* held = admission_.find(lease);
  if (held != nullptr) {
    store_.put({admission_.save(*held), clients_[lease.number()].tree_epoch});
  }
}

void ClientDesk::forget(LeaseId lease) {
  store_.end(lease.number());
  clients_.erase(lease.number());
  something_freed();
}

const ClientDesk::Client* ClientDesk::find(LeaseId lease) const {
  const auto found = clients_.find(lease.number());
  return found == clients_.end() ? nullptr : &found->second;
}

}  // namespace sluice::manager
