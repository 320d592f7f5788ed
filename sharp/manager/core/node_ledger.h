// SPDX-License-Identifier: Apache-2.0
// Who holds how much of which node, and the indices by which a node with room is found.
//
// Kept up to date holding by holding; nothing here looks at all nodes or all leases, except
// synchronize() after the fabric changed. Thread rule: one thread at a time.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "sharp/manager/core/decision.h"
#include "sharp/manager/core/fabric.h"
#include "sharp/manager/core/load_index.h"

namespace sluice::manager {

inline constexpr uint32_t kNoReservation = UINT32_MAX;

// For whom room is looked for, or whose share is charged.
struct Claimant {
  uint32_t reservation = kNoReservation;  // number of the tenant's reservation
  uint8_t priority = 0;
  bool exclusive = false;
  bool preempt = false;  // count what less important claimants hold as free
};

// A part of a node that a lease holds: the lease's slot in its table, and which of its holdings.
struct Share {
  uint32_t slot = 0;
  uint32_t holding = 0;
  uint32_t place = 0;  // in the node's list
};

struct NodeAccount {
  // What a search looks at.
  bool open = false;       // up
  bool exclusive = false;  // one group holds it alone
  uint8_t rail = kAnyRail;
  uint8_t roles = kAllRoles;
  uint16_t fan_in = 64;
  Amounts capacity;
  Amounts used;
  Amounts withheld;  // reserved and not used yet, all tenants together
  float load_per_group = 0, load_per_byte = 0, load_per_byte_second = 0;  // NodeRoom::load
  uint32_t site = 0, place = 0;  // in the index of its switch
  // By priority, of tenants without a reservation: what a reservation's owner holds stays his.
  std::array<Amounts, kPriorities> preemptible{};
  std::vector<Amounts> used_by_reservation;
  std::vector<uint32_t> shares;  // numbers for NodeLedger::share()
};

class NodeLedger {
 public:
  // One entry per tenant with a reservation: what is kept free for it on every node.
  explicit NodeLedger(std::vector<Amounts> reservations) : reservations_(std::move(reservations)) {}

  void synchronize(const Fabric& fabric);

  // What the claimant could still take of the node.
  Amounts available(NodeId node, const Claimant& claimant) const;
  bool fits(NodeId node, const Amounts& wanted, const Claimant& claimant) const {
    return wanted.fits_into(available(node, claimant));
  }
  // The least loaded node at the switch with room that `accept(NodeId)` takes; none if none.
  template <typename Accept>
  NodeId find(SwitchId at, const Amounts& wanted, const Claimant& claimant,
              const Accept& accept) const;
  // The least load of a node at the switch, if there may be one with room; NodeRoom::kClosed if
  // there is none. What find() answers is exact; this is quick.
  uint32_t glance(SwitchId at, const Amounts& wanted, const Claimant& claimant) const {
    const NodeRoom& top = tops_[at.index()];
    if (claimant.preempt) return top.load == NodeRoom::kClosed ? top.load : 0;
    if (claimant.exclusive && top.load != 0) return NodeRoom::kClosed;
    const bool unreserved = claimant.reservation == kNoReservation;
    return wanted.fits_into(unreserved ? top.unreserved : top.total) ? top.load : NodeRoom::kClosed;
  }

  // Takes a share for the holding of the lease at the slot; returns its number.
  uint32_t hold(NodeId node, const Amounts& amounts, const Claimant& claimant, uint32_t slot,
                uint32_t holding);
  void let_go(NodeId node, uint32_t share, const Amounts& amounts, const Claimant& claimant);
  const Share& share(uint32_t number) const { return shares_[number]; }

  const NodeAccount& account(NodeId node) const { return accounts_[node.index()]; }

 private:
  struct Site {
    LoadIndex index;
    std::vector<NodeId> nodes;  // by place
  };

  void update_withheld(NodeAccount& account) const;
  void update_index(const NodeAccount& account);

  std::vector<Amounts> reservations_;
  std::vector<NodeAccount> accounts_;
  std::vector<Site> sites_;     // by switch; the last one for nodes that stand nowhere
  std::vector<NodeRoom> tops_;  // LoadIndex::top() of sites_, side by side
  std::vector<Share> shares_;
  std::vector<uint32_t> free_shares_;
};

template <typename Accept>
NodeId NodeLedger::find(SwitchId at, const Amounts& wanted, const Claimant& claimant,
                        const Accept& accept) const {
  const Site& site = sites_[at.index()];
  const auto acceptable = [&](size_t candidate) {
    const NodeId node = site.nodes[candidate];
    return fits(node, wanted, claimant) && accept(node);
  };
  size_t place = LoadIndex::kNone;
  if (claimant.preempt) {  // the index does not know what less important claimants hold
    place = site.index.find({}, false, NodeRoom::kFull, acceptable);
  } else {
    place = site.index.find(wanted, claimant.reservation == kNoReservation,
                            claimant.exclusive ? 0 : NodeRoom::kFull, acceptable);
  }
  return place == LoadIndex::kNone ? NodeId{} : site.nodes[place];
}

}  // namespace sluice::manager
