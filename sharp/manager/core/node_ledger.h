// SPDX-License-Identifier: Apache-2.0
// Who holds how much of which node, and the indices by which a node with room is found.
//
// Kept up to date holding by holding; nothing here looks at all nodes or all leases, except
// synchronize() after the fabric changed. Thread rule: one thread at a time.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "sharp/manager/core/decision.h"
#include "sharp/manager/core/fabric.h"
#include "sharp/manager/core/load_index.h"

namespace sluice::manager {

inline constexpr uint32_t kNoReservation = UINT32_MAX;

// For whom room is looked for.
struct Claimant {
  uint32_t reservation = kNoReservation;  // number of the tenant's reservation
  uint8_t priority = 0;
  bool exclusive = false;
  bool preempt = false;  // count what lower priorities hold as free
};

// A lease that holds part of a node: where it is in the lease table, and which of its holdings.
struct Holder {
  uint32_t slot = 0;
  uint32_t holding = 0;
};

struct NodeAccount {
  Amounts capacity;
  Amounts used;
  std::array<Amounts, kPriorities> used_by_priority{};
  std::vector<Amounts> used_by_reservation;  // by tenants with a reservation
  Amounts withheld;                          // reserved and not used yet, all tenants together
  bool open = false;                         // up
  bool exclusive = false;                    // one group holds it alone
  uint32_t site = 0, place = 0;              // in the index of its switch
  std::vector<Holder> holders;
};

class NodeLedger {
 public:
  explicit NodeLedger(std::vector<Amounts> reservations) : reservations_(std::move(reservations)) {}

  void synchronize(const Fabric& fabric);

  // What the claimant could still take of the node.
  Amounts available(NodeId node, const Claimant& claimant) const;
  bool fits(NodeId node, const Amounts& wanted, const Claimant& claimant) const;
  // The least loaded node at the switch with room that `accept(NodeId)` takes; none if none.
  template <typename Accept>
  NodeId find(SwitchId at, const Amounts& wanted, const Claimant& claimant,
              const Accept& accept) const;
  // 1/4096 of its fullest resource.
  uint32_t load(NodeId node) const {
    return sites_[accounts_[node.index()].site].index.at(accounts_[node.index()].place).load;
  }

  // Returns the place among the node's holders.
  uint32_t hold(NodeId node, const Amounts& amounts, const Claimant& claimant, Holder holder);
  // Returns the holder that moved into the freed place, if one did: its holding's `place` changes.
  struct Moved {
    bool moved = false;
    Holder holder;
  };
  Moved let_go(NodeId node, uint32_t place, const Amounts& amounts, const Claimant& claimant);

  const NodeAccount& account(NodeId node) const { return accounts_[node.index()]; }
  std::span<const NodeAccount> accounts() const { return accounts_; }

 private:
  struct Site {
    LoadIndex index;
    std::vector<NodeId> nodes;  // by place
  };

  void charge(NodeAccount& account, const Amounts& amounts, const Claimant& claimant, bool add);
  void update_index(NodeAccount& account);
  void withhold(NodeAccount& account) const;

  std::vector<Amounts> reservations_;
  std::vector<NodeAccount> accounts_;
  std::vector<Site> sites_;  // by switch
};

template <typename Accept>
NodeId NodeLedger::find(SwitchId at, const Amounts& wanted, const Claimant& claimant,
                        const Accept& accept) const {
  if (at.index() >= sites_.size()) return {};
  const Site& site = sites_[at.index()];
  // Where lower priorities count as free, the index cannot tell who has room.
  const bool mind_reservations = claimant.reservation == kNoReservation;
  const bool anyhow = claimant.preempt;
  const size_t place =
      site.index.find(anyhow ? Amounts{} : wanted, mind_reservations, [&](size_t candidate) {
        const NodeId node = site.nodes[candidate];
        return fits(node, wanted, claimant) && accept(node);
      });
  return place == LoadIndex::kNone ? NodeId{} : site.nodes[place];
}

}  // namespace sluice::manager
