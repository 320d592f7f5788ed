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

// Where nodes have room: answers for one request.
class NodeSource {
 public:
  struct Choice {
    NodeId node;  // none: no node there will do
    uint32_t load = 0;
  };
  // The least loaded node at the switch that can have `children` children (more than it takes count
  // as that many) in all of the `roles`, and is none of `taken`.
  virtual Choice choose(SwitchId at, unsigned children, uint8_t roles,
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

  // After a failure: around which switch no node was found.
  SwitchId failed_near() const { return failed_near_; }

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
    uint32_t first_rank = 0;  // lowest below it
    uint32_t children = 0;
    bool takes_ranks = false;
  };
  struct Edge {
    uint32_t parent = 0;
    uint32_t first_rank = 0;
    bool is_node = false;
    uint32_t index = 0;  // the rank, or the place in placed_
  };
  struct Cover {
    uint32_t weight = 0;    // ranks whose way leads past the site
    uint32_t children = 0;  // that it would have at least
    bool at_members = false;
  };
  static constexpr uint32_t kNobody = UINT32_MAX;
  static constexpr size_t kMostLookedAt = 16;  // among equally good places for a root
  static constexpr int kMostAttempts = 4;

  PlanFailure attempt();
  void collect_items();
  PlanFailure place_root();
  NodeSource::Choice best_root(std::span<const SwitchId> sites, size_t start, SwitchId& at);
  PlanFailure check_reachable(size_t& farthest) const;
  void attach(uint32_t parent, size_t begin, size_t end, unsigned depth);
  bool place_between(uint32_t parent, size_t begin, size_t end, SwitchId& at,
                     NodeSource::Choice& choice);
  void cover(const Item& item, SwitchId parent_at);
  uint32_t add_node(NodeId node, SwitchId at, uint32_t parent, uint32_t first_rank);
  void make_edges();
  void drop_needless_nodes();
  PlanFailure split_wide_nodes();
  PlanFailure split(uint32_t parent, unsigned fan_in);
  bool verify();
  void write(Tree& tree) const;
  void sort_edges();

  const Routes* routes_ = nullptr;
  NodeSource* source_ = nullptr;
  const Task* task_ = nullptr;
  SwitchId failed_near_;
  std::vector<uint32_t> ranks_;  // ordered by switch
  std::vector<Item> items_;
  std::vector<Placed> placed_;
  std::vector<Edge> edges_;
  std::vector<NodeId> taken_;            // the task's, this tree's, and those that proved too small
  std::vector<Cover> covers_;            // by switch
  std::vector<SwitchId> covered_;        // switches with a cover
  std::vector<uint32_t> parents_;        // of ranks, in placed_
  mutable std::vector<uint32_t> order_;  // placed_ as they are written
};

}  // namespace sluice::manager
