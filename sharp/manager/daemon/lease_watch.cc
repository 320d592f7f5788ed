// SPDX-License-Identifier: Apache-2.0
// The part of ClientDesk that time and the nodes' reports drive: who has left, who has died, who
// does not go.
#include <algorithm>
#include <optional>
#include <utility>

#include "sharp/manager/daemon/client_desk.h"

namespace sluice::manager {
namespace {

// A client that lost its connection may come back for so long, if no node runs its group.
constexpr auto kTimeToReturn = std::chrono::seconds(5);
// A group may run on a tree that it has lost for so long: it moves to another one.
constexpr auto kTimeToMove = std::chrono::seconds(60);
constexpr auto kBetweenHints = std::chrono::seconds(1);

}  // namespace

// The core counts the trees of a lease, the group counts all its trees, those that its ranks host
// included: what matters is whether the report is about the tree that was granted last.
uint32_t ClientDesk::epoch_in_core(const Lease& lease, uint32_t reported) const {
  const auto client = clients_.find(lease.id.number());
  const bool older = client != clients_.end() && client->second.tree_epoch != 0 &&
                     reported < client->second.tree_epoch;
  return older && lease.epoch > 0 ? lease.epoch - 1 : lease.epoch;
}

void ClientDesk::on_groups(NodeId node, const sharp::NodeGroups& message, TimePoint now) {
  std::vector<RunningGroup> running;
  running.reserve(message.groups.size());
  for (const sharp::ReportedGroup& group : message.groups) {
    const Lease* lease = admission_.find(group.group);
    const uint32_t epoch = lease != nullptr ? epoch_in_core(*lease, group.epoch) : group.epoch;
    running.push_back({group.group, epoch, group.job, "", group.reserved});
  }
  const ReportOutcome outcome = admission_.report(node, running, now);
  for (const LeaseId adopted : outcome.adopted) {
    const Lease& lease = *admission_.find(adopted);
    SLUICE_INFO(logger_, collective, "group %s of job %s, which %s runs, is adopted",
                sharp::text_of(lease.request.group).c_str(), lease.request.job.c_str(),
                fabric_.node(node).description.address.c_str());
    keep(adopted);
  }
  note_stragglers(node, message, outcome.stale, now);
}

void ClientDesk::note_stragglers(NodeId node, const sharp::NodeGroups& message,
                                 const std::vector<GroupId>& stale, TimePoint now) {
  for (Straggler& straggler : stragglers_) {
    if (straggler.node == node) straggler.seen = false;
  }
  for (const GroupId& group : stale) {
    const auto known = std::find_if(stragglers_.begin(), stragglers_.end(), [&](const auto& it) {
      return it.node == node && it.group == group;
    });
    // A group that moves may run here in two epochs: the older one has lost its place.
    std::optional<uint32_t> oldest;
    for (const sharp::ReportedGroup& reported : message.groups) {
      if (reported.group == group) oldest = std::min(oldest.value_or(UINT32_MAX), reported.epoch);
    }
    if (known != stragglers_.end()) {
      known->seen = true;
    } else if (oldest) {
      stragglers_.push_back({node, group, *oldest, now, true});
    }
  }
  std::erase_if(stragglers_, [](const Straggler& straggler) { return !straggler.seen; });
}

void ClientDesk::tick(TimePoint now) {
  settle_pending(now);
  end_stragglers(now);
  for (const LeaseId lease : admission_.expire(now)) {
    ++counts_.expired;
    SLUICE_INFO(logger_, collective,
                "lease %llu has expired: neither its client nor a node has named it",
                static_cast<unsigned long long>(lease.number()));
    forget(lease);
  }
  end_orphans(now);
  spread_hints(now);
}

void ClientDesk::settle_pending(TimePoint now) {
  std::erase_if(pending_, [&](Pending& pending) {
    std::erase_if(pending.losers, [&](const auto& loser) {
      return !nodes_.runs(pending.nodes, loser.first, loser.second);
    });
    if (!pending.losers.empty() && now >= pending.end_orders && !pending.ordered) {
      pending.ordered = true;
      for (const auto& [group, epoch] : pending.losers) {
        for (const NodeId node : pending.nodes) {
          nodes_.order_end(node, group, epoch, "its place was given to a job of higher priority");
        }
      }
    }
    if (!pending.losers.empty() && now < pending.due) return false;
    outbox_.send(pending.peer, pending.grant);
    return true;
  });
}

void ClientDesk::end_stragglers(TimePoint now) {
  std::erase_if(stragglers_, [&](const Straggler& straggler) {
    if (now - straggler.since < kTimeToMove) return false;
    nodes_.order_end(straggler.node, straggler.group, straggler.epoch,
                     "the group has lost its place here and did not leave");
    return true;
  });
}

void ClientDesk::end_orphans(TimePoint now) {
  std::vector<LeaseId> dead;
  for (const auto& [number, client] : clients_) {
    if (client.peer != 0 || client.lost == TimePoint{} || now - client.lost < kTimeToReturn) {
      continue;
    }
    const LeaseId id = LeaseId::of(number);
    const Lease* lease = admission_.find(id);
    if (lease == nullptr || !nodes_.runs_anywhere(lease->request.group)) dead.push_back(id);
  }
  for (const LeaseId lease : dead) {
    admission_.release(lease);
    ++counts_.released;
    SLUICE_INFO(logger_, collective, "lease %llu ends: its client has gone, and its group",
                static_cast<unsigned long long>(lease.number()));
    forget(lease);
  }
}

void ClientDesk::spread_hints(TimePoint now) {
  if (!freed_ || now < next_hint_) return;
  freed_ = false;
  next_hint_ = now + kBetweenHints;
  admission_.for_each_lease([&](const Lease& lease) {
    if (lease.has_trees()) return;
    const auto client = clients_.find(lease.id.number());
    if (client == clients_.end() || client->second.peer == 0) return;
    outbox_.send(client->second.peer, sharp::TreesAvailable{lease.id.number()});
  });
}

}  // namespace sluice::manager
