// SPDX-License-Identifier: Apache-2.0
// The clients: who asked for which tree, who holds which lease, who must give a tree up.
//
// A lease outlives its client's connection: the client may come back, and as long as a node runs
// the group it is alive. It is in the store before the client
// hears of it. Thread
// rule: one thread.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "base/result.h"
#include "sharp/manager/core/admission.h"
#include "sharp/manager/daemon/node_desk.h"
#include "sharp/manager/daemon/outbox.h"
#include "sharp/manager/store/store.h"
#include "sharp/wire/management.h"

namespace sluice::manager {

class ClientDesk {
 public:
  // What is known of a lease's client.
  struct Client {
    PeerId peer = 0;          // 0: not connected
    std::string name;         // "gpu07, pid 4711"; empty after a restart
    uint32_t tree_epoch = 0;  // of its tree, as the group counts; 0: not known
    TimePoint lost{};         // its connection; zero: was not lost
    std::string revoked;      // why it must give its tree up; empty: it need not
    sharp::RevokeCode revoke_code{};
  };
  struct Counts {
    uint64_t granted = 0, denied = 0, preempted = 0, released = 0, expired = 0;
  };

  ClientDesk(const Logger& logger, Fabric& fabric, Admission& admission, NodeDesk& nodes,
             Store& store, Outbox& outbox, Duration lease_time)
      : logger_(logger),
        fabric_(fabric),
        admission_(admission),
        nodes_(nodes),
        store_(store),
        outbox_(outbox),
        lease_time_(lease_time) {}

  // Once, before anything else: what the store remembers.
  void restore(TimePoint now);

  void on_ask(PeerId peer, const std::string& peer_text, const sharp::TreeAsk& ask, TimePoint now);
  void on_release(PeerId peer, const sharp::Release& message);
  void on_renew(PeerId peer, const sharp::Renew& message, TimePoint now);
  void on_lost(PeerId peer, TimePoint now);

  // What a node runs: renews and adopts leases; tells which of its groups have no place there.
  void on_groups(NodeId node, const sharp::NodeGroups& message, TimePoint now);
  // All leases with a tree on the node are asked to move. Returns how many.
  size_t revoke_on(NodeId node, sharp::RevokeCode code, const std::string& sentence);
  // Something has become free: whoever has no tree may ask again.
  void something_freed() { freed_ = true; }

  void tick(TimePoint now);

  const Client* find(LeaseId lease) const;
  const Counts& counts() const { return counts_; }

 private:
  // A grant that waits until those whose trees it takes have left the nodes.
  struct Pending {
    PeerId peer = 0;
    sharp::TreeGrant grant;
    std::vector<NodeId> nodes;
    std::vector<std::pair<GroupId, uint32_t>> losers;  // group and epoch of its old tree
    TimePoint end_orders, due;
    bool ordered = false;
  };
  // A group that runs where it has no place any more.
  struct Straggler {
    NodeId node;
    GroupId group{};
    uint32_t epoch = 0;
    TimePoint since{};
    bool seen = true;
  };

  Result<Request> request_of(const sharp::TreeAsk& ask);
  Decision decide(const Request& request, uint32_t epoch, TimePoint now);
  void hold_without_tree(LeaseId lease, PeerId peer, const std::string& asker, uint32_t epoch);
  void grant(PeerId peer, const std::string& asker, const sharp::TreeAsk& ask,
             const Decision& decision, TimePoint now);
  void deny(PeerId peer, const sharp::TreeAsk& ask, LeaseId kept, Reason reason,
            const std::string& sentence);
  sharp::TreeGrant message_of(const Lease& lease, uint64_t request) const;
  void revoke(LeaseId lease, sharp::RevokeCode code, const std::string& sentence);
  void keep(LeaseId lease);
  void forget(LeaseId lease);
  uint32_t epoch_in_core(const Lease& lease, uint32_t reported) const;
  void note_stragglers(NodeId node, const sharp::NodeGroups& message,
                       const std::vector<GroupId>& stale, TimePoint now);
  void settle_pending(TimePoint now);
  void end_stragglers(TimePoint now);
  void end_orphans(TimePoint now);
  void spread_hints(TimePoint now);

  Logger logger_;
  Fabric& fabric_;
  Admission& admission_;
  NodeDesk& nodes_;
  Store& store_;
  Outbox& outbox_;
  const Duration lease_time_;
  std::unordered_map<uint64_t, Client> clients_;  // by LeaseId::number()
  std::unordered_map<PeerId, std::set<uint64_t>> leases_of_peers_;
  std::unordered_set<std::string> tenants_;  // that have asked
  std::vector<Pending> pending_;
  std::vector<Straggler> stragglers_;
  Counts counts_;
  bool freed_ = false;
  TimePoint next_hint_{};
};

}  // namespace sluice::manager
