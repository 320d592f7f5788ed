// SPDX-License-Identifier: Apache-2.0
// What is asked of admission and what it answers: plain data.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sharp/manager/core/amounts.h"
#include "sharp/manager/core/ids.h"
#include "sharp/wire/group_id.h"

namespace sluice::manager {

using GroupId = sharp::GroupId;

inline constexpr unsigned kPriorities = 8;

// A communicator asks for its trees.
struct Request {
  GroupId group{};
  TenantId tenant;                  // Admission::tenant()
  uint8_t priority = 0;             // 0 .. kPriorities - 1, more is more important
  bool exclusive = false;           // no other group on its nodes
  std::string job;                  // the scheduler's name of it; a job may have many groups
  std::vector<HostId> members;      // of rank 0, 1, ...: Fabric::locate(); a host may stand twice
  std::vector<uint8_t> rails{0};    // a tree on each
  uint32_t chunk_bytes = 64 << 10;  // of the streaming class
  // Bytes in flight of a rank: what it would like, and what it would put up with (0: that much).
  uint64_t window_bytes = 1 << 20;
  uint64_t least_window_bytes = 0;
  uint64_t latency_bytes = 256 << 10;  // of slots for the latency class per child
  uint64_t bandwidth = 0;              // bytes/s of a rank on a rail; 0: what is left over
  std::vector<NodeId> avoid;
};

// Numbers are on the wire and in scripts: never renumbered.
enum class Reason : uint16_t {
  granted = 0,
  bad_request = 1,        // no members, a priority or rail that does not exist, ...
  no_nodes = 2,           // no node is up on the rail, or none that is not to be avoided
  no_path = 3,            // links are missing between members, or between them and nodes
  groups = 4,             // nodes have no group left
  memory = 5,             // nodes have too little memory for chunks left
  bandwidth = 6,          // nodes have too little bandwidth left
  reserved = 7,           // there is room, but it is reserved for other tenants
  exclusive = 8,          // nodes are held exclusively, or asked for exclusively and in use
  tenant_limit = 9,       // the tenant has all that it may have
  too_many_members = 10,  // more than nodes in reach can take as children
  duplicate_group = 11,   // the group is another job's
  unknown_lease = 12,     // ended, or never was
};
const char* name_of(Reason reason);

// Why not. Admission::sentence() makes a sentence of it that names who holds what.
struct Denial {
  Reason reason = Reason::granted;
  uint8_t rail = 0;
  NodeId node;        // where it failed, if at one node
  SwitchId near;      // around which switch nodes were looked for
  HostId member;      // the member without a way
  TenantId tenant;    // who asked
  Amounts wanted;     // on one node
  Amounts available;  // there, for the asker
};

struct Decision {
  LeaseId lease;                   // valid: granted. Admission::find() has trees and quotas
  Denial denial;                   // if not
  std::vector<LeaseId> preempted;  // these lost their trees to this one

  bool granted() const { return lease.valid(); }
};

// A group that runs on a node, as the node reports it.
struct RunningGroup {
  GroupId group{};
  uint32_t epoch = 0;
  std::string job;
  std::string tenant;
  uint64_t memory = 0;  // bytes that it holds or may come to hold
};

struct ReportOutcome {
  std::vector<GroupId> stale;    // end these: the lease is gone, or has a newer epoch
  std::vector<LeaseId> adopted;  // leases that were not known before
};

}  // namespace sluice::manager
