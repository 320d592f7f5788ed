// SPDX-License-Identifier: Apache-2.0
// Finds the slot of a group: an open-addressing table, since a lookup, an insertion and a removal
// are part of every decision and must neither allocate nor chase pointers.
//
// Linear probing, removal by shifting back, at most half full. Group ids come from outside: a
// secret in the hash keeps anybody from choosing such as collide. Thread rule: one thread at a
// time.
#pragma once

#include <cstdint>
#include <cstring>
#include <vector>

#include "sharp/wire/group_id.h"

namespace sluice::manager {

class GroupIndex {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;

  explicit GroupIndex(const sharp::GroupId& secret) {
    std::memcpy(secret_, secret.data(), sizeof(secret_));
    entries_.resize(64);
  }

  size_t size() const { return size_; }
  // `group_of(slot)` gives the group that was inserted for the slot.
  template <typename GroupOf>
  uint32_t find(const sharp::GroupId& group, const GroupOf& group_of) const {
    const uint32_t hash = hash_of(group);
    for (size_t at = hash & mask();; at = (at + 1) & mask()) {
      const Entry& entry = entries_[at];
      if (entry.slot == kNone) return kNone;
      if (entry.hash == hash && group_of(entry.slot) == group) return entry.slot;
    }
  }
  // The group must not be there yet.
  void insert(const sharp::GroupId& group, uint32_t slot) {
    if (2 * (size_ + 1) > entries_.size()) grow();
    ++size_;
    put({hash_of(group), slot});
  }
  // The group must be there, under this slot.
  void erase(const sharp::GroupId& group, uint32_t slot) {
    size_t hole = hash_of(group) & mask();
    while (entries_[hole].slot != slot) hole = (hole + 1) & mask();
    --size_;
    // What was pushed past the hole by a collision moves back into it.
    for (size_t at = (hole + 1) & mask(); entries_[at].slot != kNone; at = (at + 1) & mask()) {
      const size_t home = entries_[at].hash & mask();
      if (((at - home) & mask()) < ((at - hole) & mask())) continue;
      entries_[hole] = entries_[at];
      hole = at;
    }
    entries_[hole] = {};
  }

 private:
  struct Entry {
    uint32_t hash = 0;
    uint32_t slot = kNone;
  };
  __extension__ using Wide = unsigned __int128;

  size_t mask() const { return entries_.size() - 1; }
  uint32_t hash_of(const sharp::GroupId& group) const {
    uint64_t words[2];
    std::memcpy(words, group.data(), sizeof(words));
    const Wide product = static_cast<Wide>(words[0] ^ secret_[0]) * (words[1] ^ secret_[1]);
    return static_cast<uint32_t>(static_cast<uint64_t>(product >> 64) ^
                                 static_cast<uint64_t>(product));
  }
  void put(const Entry& entry) {
    size_t at = entry.hash & mask();
    while (entries_[at].slot != kNone) at = (at + 1) & mask();
    entries_[at] = entry;
  }
  void grow() {
    std::vector<Entry> before(2 * entries_.size());
    before.swap(entries_);
    for (const Entry& entry : before) {
      if (entry.slot != kNone) put(entry);
    }
  }

  uint64_t secret_[2];
  size_t size_ = 0;
  std::vector<Entry> entries_;  // a power of two
};

}  // namespace sluice::manager
