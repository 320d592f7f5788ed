// SPDX-License-Identifier: Apache-2.0
// The leases: found by id and by group, and kept in the order in which they were renewed, which is
// the order in which they expire, since all last equally long.
//
// Slots are used again with their vectors' memory, so admitting and releasing do not allocate.
// Thread rule: one thread at a time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <deque>
#include <unordered_map>
#include <vector>

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
    for (uint32_t slot = oldest_; slot != kNone; slot = slots_[slot].newer) visit(slots_[slot]);
  }

 private:
  static constexpr uint32_t kNone = UINT32_MAX;
  static constexpr uint32_t kMostSlots = 1 << 22;
  // Group ids come from outside: a secret keeps anybody from choosing such as collide.
  __extension__ using Wide = unsigned __int128;
  struct Hash {
    uint64_t secret[2];
    size_t operator()(const GroupId& group) const {
      uint64_t words[2];
      std::memcpy(words, group.data(), sizeof(words));
      const auto product =
          static_cast<Wide>(words[0] ^ secret[0]) * static_cast<Wide>(words[1] ^ secret[1]);
      return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
    }
  };

  using ByGroup = std::unordered_map<GroupId, uint32_t, Hash>;

  Lease& activate(LeaseId id, const GroupId& group);
  void link(Lease& lease);
  void unlink(Lease& lease);

  std::deque<Lease> slots_;  // never moves
  std::vector<uint32_t> free_;
  uint32_t generation_ = 0;  // counts leases, so that no number comes twice
  ByGroup by_group_;
  uint32_t oldest_ = kNone, newest_ = kNone;
};

}  // namespace sluice::manager
