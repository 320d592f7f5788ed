// SPDX-License-Identifier: Apache-2.0
// Places one tree: members on switches, and where nodes have room -> nodes, parents, children.
//
// The root stands where the farthest member is nearest, then where all are, then on the least
// loaded node. Between it and the members a node is put wherever ways of two or more connections
// run together, the one that saves most hops first; so a node never has one child only, unless the
// group has one member. More children than a node takes: further nodes near it share them.
// Pure: the same members, routes and room give the same tree. Keeps scratch memory only.
// Thread rule: one thread at a time.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sharp/manager/core/routes.h"
#include "sharp/manager/core/tree.h"

namespace sluice::manager {

// Where nodes have room: answers for one request. More children than a node ever takes count as
// that many.
class NodeSource {
 public:
  static constexpr uint32_t kNoRoom = UINT32_MAX;

  // How busy the least busy node at the switch is, if one may have room for `children`; kNoRoom if
  // none has. A quick hint.
  virtual uint32_t glance(SwitchId at, unsigned children) = 0;
  // The least loaded node at the switch that can have so many children in all of the `roles`, and
  // is none of `taken`. None if there is none.
  virtual NodeId choose(SwitchId at, unsigned children, uint8_t roles,
                        std::span<const NodeId> taken) = 0;
  virtual bool fits(NodeId node, unsigned children, uint8_t roles) = 0;
  virtual unsigned fan_in(NodeId node) = 0;

 protected:
  ~NodeSource() = default;
};

enum class PlanFailure : uint8_t {
  none,
  no_path,   // between members, or from them to any node
  no_room,   // on nodes near enough
  too_many,  // members for the nodes near enough
};

class TreePlanner {
 public:
  static constexpr unsigned kMaxDepth = 8;  // nodes on the way from a rank to the root

  struct Task {
    std::span<const SwitchId> members;  // the switch of each rank on this rail
    std::span<const NodeId> taken;      // not to be used: the group's other trees, nodes to avoid
    uint32_t spread = 0;                // where to start among many equally good places
  };
  PlanFailure plan(const Routes& routes, const Task& task, NodeSource& source, Tree& tree);

  // After a failure: around which switch no node was found, and for how many children.
  SwitchId failed_near() const { return failed_near_; }
  unsigned failed_children() const { return failed_children_; }

 private:
  // Ranks on one switch: connections that want a way to the root.
  struct Item {
    SwitchId at;
    uint32_t begin = 0, end = 0;  // in ranks_
    uint32_t weight() const { return end - begin; }
  };
  struct Placed {
    NodeId node;
    SwitchId at;
    uint32_t parent = kNobody;
    uint32_t first_rank = 0;   // lowest below it
    uint32_t children = 0;     // 0: left out again
    bool takes_ranks = false;  // perhaps: helpers may have taken them all
  };
  // A site where a node may be put, and what it would do there.
  struct Spot {
    SwitchId at;
    uint32_t weight = 0;    // ranks whose way leads past it
    uint32_t children = 0;  // that it would have at least
    bool at_members = false;
    uint32_t load = 0;
    uint64_t worth = 0;  // hops saved; for a root, minus the hops to it
  };
  static constexpr uint32_t kNobody = UINT32_MAX;
  static constexpr size_t kMostLookedAt = 16;  // among equally good places for a root
  static constexpr int kMostAttempts = 4;

  // Placing: tree_planner.cc.
  PlanFailure attempt();
  void collect_items();
  PlanFailure find_ends(size_t& one, size_t& other) const;
  PlanFailure place_root();
  bool place_root_among(std::span<const SwitchId> sites, size_t start);
  Spot root_spot(SwitchId at);
  void attach(uint32_t parent, size_t begin, size_t end, unsigned depth);
  void collect_spots(SwitchId parent_at, size_t begin, size_t end);
  void recount(Spot& spot, SwitchId parent_at, size_t begin, size_t end) const;
  size_t best_spot(size_t base) const;
  void remove_spot(size_t index);
  uint32_t add_node(NodeId node, SwitchId at, uint32_t parent, uint32_t first_rank);

  // Making it a tree: tree_assembly.cc.
  void count_children();
  void leave_out(uint32_t node);
  PlanFailure split(uint32_t parent, unsigned fan_in);
  bool verify();
  void write(Tree& tree);
  void order_nodes();

  const Routes* routes_ = nullptr;
  NodeSource* source_ = nullptr;
  const Task* task_ = nullptr;
  SwitchId failed_near_;
  unsigned failed_children_ = 0;
  std::vector<uint32_t> ranks_;  // ordered by switch
  std::vector<Item> items_;
  std::vector<Placed> placed_;      // the root is the first, or what is left of it
  std::vector<NodeId> taken_;       // the task's, this tree's, and those that proved too small
  std::vector<Spot> spots_;         // a stack: each level of attach() has its own on top
  std::vector<uint32_t> spot_at_;   // by switch: its place in spots_ + 1 while spots are collected
  std::vector<uint32_t> parents_;   // of ranks, in placed_
  std::vector<uint32_t> order_;     // of placed_, as the tree has them
  std::vector<uint32_t> place_of_;  // in order_
  std::vector<uint32_t> next_child_;  // where a node's next child is written
};

}  // namespace sluice::manager
