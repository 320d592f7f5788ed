// SPDX-License-Identifier: Apache-2.0
// What the control interface shows, as plain data: the same for the daemon that fills it and the
// command line that prints it. Units: bytes, bytes/s, seconds.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace sluice::manager {

struct NodeRow {
  std::string address, name;
  std::string at;     // the switch where it stands
  std::string state;  // up, draining, down
  bool connected = false;
  uint32_t groups = 0, most_groups = 0;
  uint64_t memory = 0, most_memory = 0;
  uint64_t bandwidth = 0, most_bandwidth = 0;
  uint32_t reported_groups = 0;  // that it says it runs

  template <typename Self, typename Visitor>
  static void fields(Self& self, Visitor& visit) {
    visit("address", self.address);
    visit("name", self.name);
    visit("at", self.at);
    visit("state", self.state);
    visit("connected", self.connected);
    visit("groups", self.groups);
    visit("most_groups", self.most_groups);
    visit("memory", self.memory);
    visit("most_memory", self.most_memory);
    visit("bandwidth", self.bandwidth);
    visit("most_bandwidth", self.most_bandwidth);
    visit("reported_groups", self.reported_groups);
  }
};

struct StatusReport {
  std::string version, address;
  double uptime = 0;
  std::string state_file;  // empty: none
  uint32_t leases = 0, leases_without_tree = 0;
  uint64_t granted = 0, denied = 0, preempted = 0, released = 0, expired = 0;
  std::vector<NodeRow> nodes;

  template <typename Self, typename Visitor>
  static void fields(Self& self, Visitor& visit) {
    visit("version", self.version);
    visit("address", self.address);
    visit("uptime", self.uptime);
    visit("state_file", self.state_file);
    visit("leases", self.leases);
    visit("leases_without_tree", self.leases_without_tree);
    visit("granted", self.granted);
    visit("denied", self.denied);
    visit("preempted", self.preempted);
    visit("released", self.released);
    visit("expired", self.expired);
  }
};

struct JobRow {
  std::string job, tenant;
  uint32_t priority = 0;
  uint64_t lease = 0;
  std::string group;
  uint32_t ranks = 0;
  std::string state;  // tree, moving, fallback, adopted
  std::string why;    // of a tree that is to be given up
  std::string client;
  bool connected = false;
  uint32_t nodes = 0;
  uint64_t memory = 0;  // on all its nodes
  double expires = 0;   // in so many seconds, unless it is renewed

  template <typename Self, typename Visitor>
  static void fields(Self& self, Visitor& visit) {
    visit("job", self.job);
    visit("tenant", self.tenant);
    visit("priority", self.priority);
    visit("lease", self.lease);
    visit("group", self.group);
    visit("ranks", self.ranks);
    visit("state", self.state);
    visit("why", self.why);
    visit("client", self.client);
    visit("connected", self.connected);
    visit("nodes", self.nodes);
    visit("memory", self.memory);
    visit("expires", self.expires);
  }
};

struct TreeNodeRow {
  std::string address, parent;  // no parent: the root
  std::string ranks;            // that join it: "0-3,8"

  template <typename Self, typename Visitor>
  static void fields(Self& self, Visitor& visit) {
    visit("address", self.address);
    visit("parent", self.parent);
    visit("ranks", self.ranks);
  }
};

struct TreeRow {
  std::string job;
  uint64_t lease = 0;
  std::string group;
  uint32_t rail = 0, epoch = 0, window = 0;
  std::vector<TreeNodeRow> nodes;

  template <typename Self, typename Visitor>
  static void fields(Self& self, Visitor& visit) {
    visit("job", self.job);
    visit("lease", self.lease);
    visit("group", self.group);
    visit("rail", self.rail);
    visit("epoch", self.epoch);
    visit("window", self.window);
  }
};

struct ReservationRow {
  std::string tenant;
  // Per node, kept free for the tenant.
  uint32_t reserved_groups = 0;
  uint64_t reserved_memory = 0, reserved_bandwidth = 0;
  // Over all nodes, at most; the largest number: no limit.
  uint32_t most_groups = 0;
  uint64_t most_memory = 0, most_bandwidth = 0;
  uint32_t groups = 0;
  uint64_t memory = 0, bandwidth = 0;

  template <typename Self, typename Visitor>
  static void fields(Self& self, Visitor& visit) {
    visit("tenant", self.tenant);
    visit("reserved_groups", self.reserved_groups);
    visit("reserved_memory", self.reserved_memory);
    visit("reserved_bandwidth", self.reserved_bandwidth);
    visit("most_groups", self.most_groups);
    visit("most_memory", self.most_memory);
    visit("most_bandwidth", self.most_bandwidth);
    visit("groups", self.groups);
    visit("memory", self.memory);
    visit("bandwidth", self.bandwidth);
  }
};

struct DrainOutcome {
  std::string node;  // its address
  std::string state;
  uint32_t groups_asked_to_move = 0;

  template <typename Self, typename Visitor>
  static void fields(Self& self, Visitor& visit) {
    visit("node", self.node);
    visit("state", self.state);
    visit("groups_asked_to_move", self.groups_asked_to_move);
  }
};

}  // namespace sluice::manager
