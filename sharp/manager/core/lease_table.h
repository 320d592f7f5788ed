// SPDX-License-Identifier: Apache-2.0
// The leases: found by id and by group, and kept in the order in which they were renewed, which is
// the order in which they expire, since all last equally long.
//
// Slots are used again with their vectors' memory, so admitting and releasing do not allocate.
// Thread rule: one thread at a time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <vector>

#include "sharp/manager/core/group_index.h"
#include "sharp/manager/core/lease.h"

namespace sluice::manager {

class LeaseTable {
 public:
  LeaseTable();
  Lease& add(const GroupId& group);
  // Restores a lease under the number that it had. nullptr: the number or the group is taken, or
  // cannot be one.
  Lease* add_as(LeaseId id, const GroupId& group);
  void remove(Lease& lease);

  Lease* find(LeaseId id);
  const Lease* find(LeaseId id) const { return const_cast<LeaseTable*>(this)->find(id); }
  Lease* find(const GroupId& group);
  const Lease* find(const GroupId& group) const {
    return const_cast<LeaseTable*>(this)->find(group);
  }
  Lease& at_slot(uint32_t slot) { return slots_[slot]; }
  const Lease& at_slot(uint32_t slot) const { return slots_[slot]; }
  size_t size() const { return by_group_.size(); }
  uint32_t generation() const { return generation_; }
  // Numbers of leases before this one are spent.
  void skip_generations(uint32_t until) { generation_ = std::max(generation_, until); }

  // Puts the lease last in the order of renewal.
  void touch(Lease& lease, TimePoint expires);
  Lease* oldest() { return oldest_ == kNone ? nullptr : &slots_[oldest_]; }

  // Oldest first; `visit` must not change the table.
  template <typename Visit>
  void for_each(const Visit& visit) const {
    for (uint32_t slot = oldest_; slot != kNone; slot = order_[slot].newer) visit(slots_[slot]);
  }

 private:
  static constexpr uint32_t kNone = UINT32_MAX;
  static constexpr uint32_t kMostSlots = 1 << 22;
  Lease& activate(LeaseId id, const GroupId& group);
  void link(Lease& lease);
  void unlink(Lease& lease);

  // Neighbours in the order of renewal; by slot, apart from the leases so that they stay in cache.
  struct Neighbours {
    uint32_t older = kNone, newer = kNone;
  };

  uint32_t add_slot();

  std::deque<Lease> slots_;  // never moves
  std::vector<Neighbours> order_;
  std::vector<uint32_t> free_;
  uint32_t generation_ = 0;  // counts leases, so that no number comes twice
  GroupIndex by_group_;
  uint32_t oldest_ = kNone, newest_ = kNone;
};

}  // namespace sluice::manager
