// SPDX-License-Identifier: Apache-2.0
#include "sharp/manager/core/lease_table.h"

#include <algorithm>

namespace sluice::manager {

namespace {

// Without the system's random numbers a constant has to do.
GroupId secret() {
  const auto random = sharp::random_group_id();
  return random ? *random : GroupId{0x9e, 0x37, 0x79, 0xb9, 0x7f, 0x4a, 0x7c, 0x15};
}

}  // namespace

LeaseTable::LeaseTable() : by_group_(secret()) {}

uint32_t LeaseTable::add_slot() {
  const auto slot = static_cast<uint32_t>(slots_.size());
  slots_.emplace_back();
  order_.emplace_back();
  free_.push_back(slot);
  return slot;
}

Lease& LeaseTable::add(const GroupId& group) {
  // A slot may be in the list although it is in use: add_as() takes slots without looking there.
  while (!free_.empty() && slots_[free_.back()].active) free_.pop_back();
  if (free_.empty()) add_slot();
  const uint32_t slot = free_.back();
  free_.pop_back();
  ++generation_;
  return activate({slot, generation_}, group);
}

Lease* LeaseTable::add_as(LeaseId id, const GroupId& group) {
  if (id.slot >= kMostSlots || find(group) != nullptr) return nullptr;
  while (slots_.size() <= id.slot) add_slot();
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
  by_group_.insert(group, id.slot);
  link(lease);
  return lease;
}

void LeaseTable::remove(Lease& lease) {
  by_group_.erase(lease.request.group, lease.id.slot);
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
  const uint32_t slot = by_group_.find(
      group, [&](uint32_t candidate) -> const GroupId& { return slots_[candidate].request.group; });
  return slot == GroupIndex::kNone ? nullptr : &slots_[slot];
}

void LeaseTable::touch(Lease& lease, TimePoint expires) {
  lease.expires = expires;
  if (newest_ == lease.id.slot) return;
  unlink(lease);
  link(lease);
}

void LeaseTable::link(Lease& lease) {
  const uint32_t slot = lease.id.slot;
  order_[slot] = {newest_, kNone};
  if (newest_ != kNone) order_[newest_].newer = slot;
  newest_ = slot;
  if (oldest_ == kNone) oldest_ = slot;
}

void LeaseTable::unlink(Lease& lease) {
  const auto [older, newer] = order_[lease.id.slot];
  if (older != kNone) order_[older].newer = newer;
  if (newer != kNone) order_[newer].older = older;
  if (oldest_ == lease.id.slot) oldest_ = newer;
  if (newest_ == lease.id.slot) newest_ = older;
}

}  // namespace sluice::manager
