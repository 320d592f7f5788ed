// SPDX-License-Identifier: Apache-2.0
// What the manager remembers over its own death, as records of a journal: pure data and its codec.
//
// Kinds: a lease as it is now, a lease that has ended, a node that is drained or not, the
// generation of leases' numbers. Later records replace earlier ones about the same thing. Thread
// rule: as any value.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "sharp/manager/core/snapshot.h"
#include "sharp/manager/store/journal.h"

namespace sluice::manager {

struct StoredLease {
  SavedLease lease;
  uint32_t client_epoch = 0;  // the group's own count of its trees, as the client named it last
};

Record record_of(const StoredLease& lease);
Record record_of_end(uint64_t lease);
Record record_of_drain(const std::string& node, bool draining);
Record record_of_generation(uint32_t generation);

// All of it: what the records of a journal come to.
struct StoredState {
  std::map<uint64_t, StoredLease> leases;  // by number
  std::set<std::string> draining;          // nodes, by address
  uint32_t generation = 0;                 // of leases' numbers: those up to here are spent

  Status apply(std::span<const std::byte> record);
  std::vector<Record> records() const;
};

}  // namespace sluice::manager
