// SPDX-License-Identifier: Apache-2.0
// Messages of the manager: with clients (rank 0 of a communicator) and with aggregation nodes.
//
// All travel in pieces (pieces.h), over connections of the purpose `management`. docs/manager.md
// tells the order: a client asks, is granted or denied, renews, releases; the manager may revoke.
// A node registers, reports, is commanded. Either side may lose the other at any time: both connect
// again and say what they have.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sharp/wire/envelope.h"
#include "sharp/wire/group_id.h"
#include "sharp/wire/membership.h"

namespace sluice::sharp {

inline constexpr size_t kMaxAvoided = 256;          // nodes in a request
inline constexpr size_t kMaxServed = 1024;          // hosts and subnets of a node
inline constexpr size_t kMaxReportedGroups = 8192;  // of a node, in one report
inline constexpr uint8_t kMaxPriority = 7;          // of a request; 0 is the least
inline constexpr size_t kMaxName = 255;  // bytes of an address, host, job, tenant, switch

// ---- clients ----

// The next ranks, and the host they run on.
struct HostRanks {
  std::string host;  // address without port, or name
  uint16_t ranks = 0;

  bool operator==(const HostRanks&) const = default;

  template <typename Self, typename Archive>
  static void fields(Self& self, Archive& archive) {
    archive(self.host);
    archive(self.ranks);
  }
};

struct TreeAsk {
  static constexpr MessageType kType = MessageType::tree_ask;
  uint64_t request = 0;  // the answer repeats it
  uint64_t lease = 0;    // of the tree that this one takes the place of; 0: none
  GroupId group{};
  uint32_t epoch = 0;
  std::string job;
  std::string tenant;
  std::string asker;  // for texts: "gpu07, pid 4711"
  uint8_t priority = 0;
  uint8_t exclusive = 0;  // no other group on its nodes
  uint8_t rail = 0;
  uint32_t chunk_bytes = 0;
  uint32_t window = 0;              // chunks in flight: wanted
  uint32_t latency_slot_bytes = 0;  // of the latency class, all slots of a child
  std::vector<HostRanks> members;   // in the order of the ranks
  std::vector<std::string> avoid;   // addresses of nodes

  template <typename Self, typename Archive>
  static void fields(Self& self, Archive& archive) {
    archive(self.request);
    archive(self.lease);
    archive(self.group);
    archive(self.epoch);
    archive(self.job);
    archive(self.tenant);
    archive(self.asker);
    archive(self.priority);
    archive(self.exclusive);
    archive(self.rail);
    archive(self.chunk_bytes);
    archive(self.window);
    archive(self.latency_slot_bytes);
    archive(self.members);
    archive(self.avoid);
  }
};
// A sentence if nobody may ask so.
Status check(const TreeAsk& ask);

struct GrantedNode {
  std::string address;
  uint16_t parent = 0xffff;      // place among the nodes; the root has none
  std::vector<RankRange> ranks;  // that join this node themselves, ascending

  bool operator==(const GrantedNode&) const = default;

  template <typename Self, typename Archive>
  static void fields(Self& self, Archive& archive) {
    archive(self.address);
    archive(self.parent);
    archive(self.ranks);
  }
};

struct TreeGrant {
  static constexpr MessageType kType = MessageType::tree_grant;
  uint64_t request = 0;
  uint64_t lease = 0;
  uint32_t lease_ms = 0;  // it ends when it was not renewed for so long
  uint32_t window = 0;    // granted, at most the one asked for
  std::string token;      // for the nodes
  std::vector<GrantedNode> nodes;

  template <typename Self, typename Archive>
  static void fields(Self& self, Archive& archive) {
    archive(self.request);
    archive(self.lease);
    archive(self.lease_ms);
    archive(self.window);
    archive(self.token);
    archive(self.nodes);
  }
};

struct TreeDenied {
  static constexpr MessageType kType = MessageType::tree_denied;
  uint64_t request = 0;
  uint64_t lease = 0;     // kept for a later request, without a tree; 0: none
  uint16_t code = 0;      // manager::Reason
  uint32_t retry_ms = 0;  // not worth asking earlier, unless trees_available comes
  std::string sentence;   // why, and who holds what

  template <typename Self, typename Archive>
  static void fields(Self& self, Archive& archive) {
    archive(self.request);
    archive(self.lease);
    archive(self.code);
    archive(self.retry_ms);
    archive(self.sentence);
  }
};

enum class RevokeCode : uint16_t {
  preempted = 1,  // by a job of higher priority
  drained = 2,    // a node of the tree is taken out of service
  lost = 3,       // a node of the tree is gone, or has ended the group
};

// The tree is to be given up. The lease goes on: another tree may be asked for.
struct Revoke {
  static constexpr MessageType kType = MessageType::revoke;
  uint64_t lease = 0;
  RevokeCode code{};
  std::string sentence;

  template <typename Self, typename Archive>
  static void fields(Self& self, Archive& archive) {
    archive(self.lease);
    archive(self.code);
    archive(self.sentence);
  }
};

// The group has ended.
struct Release {
  static constexpr MessageType kType = MessageType::release;
  uint64_t lease = 0;

  template <typename Self, typename Archive>
  static void fields(Self& self, Archive& archive) {
    archive(self.lease);
  }
};

// Keeps a lease alive; the first message on a new connection to say what the client holds.
struct Renew {
  static constexpr MessageType kType = MessageType::renew;
  uint64_t lease = 0;
  GroupId group{};
  uint32_t epoch = 0;  // of the tree that was granted

  template <typename Self, typename Archive>
  static void fields(Self& self, Archive& archive) {
    archive(self.lease);
    archive(self.group);
    archive(self.epoch);
  }
};

struct Renewed {
  static constexpr MessageType kType = MessageType::renewed;
  GroupId group{};
  uint64_t lease = 0;  // may be another than the one named: the group's own; 0: there is none
  uint32_t lease_ms = 0;

  template <typename Self, typename Archive>
  static void fields(Self& self, Archive& archive) {
    archive(self.group);
    archive(self.lease);
    archive(self.lease_ms);
  }
};

// A group without a tree may ask again: something has become free.
struct TreesAvailable {
  static constexpr MessageType kType = MessageType::trees_available;
  uint64_t lease = 0;

  template <typename Self, typename Archive>
  static void fields(Self& self, Archive& archive) {
    archive(self.lease);
  }
};

// ---- aggregation nodes ----

struct NodeRegister {
  static constexpr MessageType kType = MessageType::node_register;
  std::string name;                 // for people; may be empty
  std::string address;              // "10.0.0.1:7654"; "0.0.0.0:7654": as the manager sees it
  std::string at;                   // switch or host that it stands at; may be empty
  std::vector<std::string> serves;  // hosts and subnets, where `at` is not known
  std::string uplink;               // switch, or address of a node, above it; may be empty
  uint8_t rail = 0xff;              // the only rail it takes; 0xff: any
  uint8_t roles = 7;                // leaf 1, inner node 2, root 4
  uint16_t fan_in = kMaxFanIn;
  uint32_t groups = 0;     // most at a time
  uint64_t memory = 0;     // bytes that groups may have reserved
  uint64_t bandwidth = 0;  // bytes/s that children may send; 0: unlimited
  uint8_t draining = 0;    // by its own operator

  template <typename Self, typename Archive>
  static void fields(Self& self, Archive& archive) {
    archive(self.name);
    archive(self.address);
    archive(self.at);
    archive(self.serves);
    archive(self.uplink);
    archive(self.rail);
    archive(self.roles);
    archive(self.fan_in);
    archive(self.groups);
    archive(self.memory);
    archive(self.bandwidth);
    archive(self.draining);
  }
};
Status check(const NodeRegister& node);

struct NodeRegistered {
  static constexpr MessageType kType = MessageType::node_registered;
  uint8_t accepted = 0;
  uint32_t report_ms = 0;  // longest time between two reports
  std::string sentence;    // why not; the node's address as the manager knows it

  template <typename Self, typename Archive>
  static void fields(Self& self, Archive& archive) {
    archive(self.accepted);
    archive(self.report_ms);
    archive(self.sentence);
  }
};

struct ReportedGroup {
  GroupId group{};
  uint32_t epoch = 0;
  uint16_t members = 0;
  uint64_t reserved = 0;  // bytes that it may come to hold
  uint64_t active = 0;    // bytes that it holds now
  std::string job;

  template <typename Self, typename Archive>
  static void fields(Self& self, Archive& archive) {
    archive(self.group);
    archive(self.epoch);
    archive(self.members);
    archive(self.reserved);
    archive(self.active);
    archive(self.job);
  }
};

// All groups of the node: when they change, and from time to time.
struct NodeGroups {
  static constexpr MessageType kType = MessageType::node_groups;
  uint8_t draining = 0;
  std::vector<ReportedGroup> groups;

  template <typename Self, typename Archive>
  static void fields(Self& self, Archive& archive) {
    archive(self.draining);
    archive(self.groups);
  }
};
Status check(const NodeGroups& report);

enum class NodeOrder : uint16_t {
  serve = 1,      // takes new groups again
  drain = 2,      // takes no new groups; the running ones go on
  end_group = 3,  // the group has lost its place here
};

struct NodeCommand {
  static constexpr MessageType kType = MessageType::node_command;
  NodeOrder order{};
  GroupId group{};     // end_group
  uint32_t epoch = 0;  // end_group: this one and those before it
  std::string sentence;

  template <typename Self, typename Archive>
  static void fields(Self& self, Archive& archive) {
    archive(self.order);
    archive(self.group);
    archive(self.epoch);
    archive(self.sentence);
  }
};

}  // namespace sluice::sharp
