// SPDX-License-Identifier: Apache-2.0
#include "sharp/manager/core/lease_table.h"

#include <algorithm>

namespace sluice::manager {

LeaseTable::LeaseTable() : by_group_(0, Hash{{0x9e3779b97f4a7c15, 0xd1b54a32d192ed03}}) {
  const auto random = sharp::random_group_id();
  if (!random) return;  // without the system's random numbers the constants have to do
  Hash hash{};
  std::memcpy(hash.secret, random->data(), sizeof(hash.secret));
  by_group_ = ByGroup(0, hash);
}

Lease& LeaseTable::add(const GroupId& group) {
  // A slot may be in the list although it is in use: add_as() takes slots without looking there.
  while (!free_.empty() && slots_[free_.back()].active) free_.pop_back();
  if (free_.empty()) {
    free_.push_back(static_cast<uint32_t>(slots_.size()));
    slots_.emplace_back();
  }
  const uint32_t slot = free_.back();
  free_.pop_back();
  ++generation_;
  return activate({slot, generation_}, group);
}

Lease* LeaseTable::add_as(LeaseId id, const GroupId& group) {
  if (id.slot >= kMostSlots || by_group_.contains(group)) return nullptr;
  while (slots_.size() <= id.slot) {
    free_.push_back(static_cast<uint32_t>(slots_.size()));
    slots_.emplace_back();
  }
  if (slots_[id.slot].active) return nullptr;
  generation_ = std::max(generation_, id.generation);
  return &activate(id, group);
}

Lease& LeaseTable::activate(LeaseId id, const GroupId& group) {
  Lease& lease = slots_[id.slot];
  lease.id = id;
  lease.active = true;
  lease.adopted = false;
  lease.epoch = 1;
  lease.request.group = group;
  by_group_.emplace(group, id.slot);
  link(lease);
  return lease;
}

void LeaseTable::remove(Lease& lease) {
  by_group_.erase(lease.request.group);
  unlink(lease);
  lease.active = false;
  free_.push_back(lease.id.slot);
}

Lease* LeaseTable::find(LeaseId id) {
  if (id.slot >= slots_.size()) return nullptr;
  Lease& lease = slots_[id.slot];
  return lease.active && lease.id == id ? &lease : nullptr;
}

Lease* LeaseTable::find(const GroupId& group) {
  const auto found = by_group_.find(group);
  return found == by_group_.end() ? nullptr : &slots_[found->second];
}

void LeaseTable::touch(Lease& lease, TimePoint expires) {
  lease.expires = expires;
  if (newest_ == lease.id.slot) return;
  unlink(lease);
  link(lease);
}

void LeaseTable::link(Lease& lease) {
  lease.older = newest_;
  lease.newer = kNone;
  if (newest_ != kNone) slots_[newest_].newer = lease.id.slot;
  newest_ = lease.id.slot;
  if (oldest_ == kNone) oldest_ = lease.id.slot;
}

void LeaseTable::unlink(Lease& lease) {
  if (lease.older != kNone) slots_[lease.older].newer = lease.newer;
  if (lease.newer != kNone) slots_[lease.newer].older = lease.older;
  if (oldest_ == lease.id.slot) oldest_ = lease.newer;
  if (newest_ == lease.id.slot) newest_ = lease.older;
}

}  // namespace sluice::manager
