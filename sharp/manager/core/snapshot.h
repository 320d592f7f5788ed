// SPDX-License-Identifier: Apache-2.0
// What the manager must not forget over a restart: plain data, by name, to be written and read by
// whoever likes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sharp/manager/core/decision.h"
#include "sharp/manager/core/tree.h"

namespace sluice::manager {

struct SavedTreeNode {
  std::string address;
  uint16_t parent = TreeNode::kNoParent;
  std::vector<TreeChild> children;
  Amounts amounts;  // held there
};

struct SavedTree {
  uint8_t rail = 0;
  std::vector<SavedTreeNode> nodes;
};

struct SavedLease {
  uint64_t lease = 0;  // LeaseId::number(): stays the same
  GroupId group{};
  uint32_t epoch = 0;
  bool adopted = false;
  std::string job, tenant;
  uint8_t priority = 0;
  bool exclusive = false;
  std::vector<std::string> members;
  std::vector<uint8_t> rails;
  uint32_t chunk_bytes = 0;
  uint64_t window_bytes_wanted = 0, least_window_bytes = 0, latency_bytes = 0, bandwidth = 0;
  uint64_t window_bytes = 0;
  std::vector<SavedTree> trees;
};

struct Snapshot {
  uint32_t generation = 0;  // of leases: numbers up to here are spent
  std::vector<SavedLease> leases;
  std::vector<std::string> draining;  // nodes, by address
};

}  // namespace sluice::manager
