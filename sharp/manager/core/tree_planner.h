// SPDX-License-Identifier: Apache-2.0
// Places one tree: members on switches, and where nodes have room -> nodes, parents, children.
//
// The root stands where the farthest member is nearest, then where all are, then on the least
// loaded node. Between it and the members a node is put wherever ways of two or more connections
// run together, the one that saves most hops first; so a node never has one child only, unless the
// group has one member. More children than a node takes: further nodes near it share them.
// The same members, routes and room give the same tree. No state but scratch memory.
// Thread rule: one thread at a time.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sharp/manager/core/decision.h"
#include "sharp/manager/core/routes.h"
#include "sharp/manager/core/tree.h"

namespace sluice::manager {

// Where nodes have room: answers for one request.
class NodeSource {
 public:
  struct Choice {
    NodeId node;  // none: no node there will do
    uint32_t load = 0;
    uint16_t fan_in = 0;
  };
  // The best node at the switch for up to `children` children in one of the `roles`, none of
  // `taken`.
  virtual Choice choose(SwitchId at, unsigned children, uint8_t roles,
                        std::span<const NodeId> taken) = 0;
  // Would the node take that many?
  virtual bool fits(NodeId node, unsigned children) = 0;

 protected:
  ~NodeSource() = default;
};

class TreePlanner {
 public:
  // `members`: the switch of each rank on this rail. `taken`: nodes of the group's other trees.
  // Writes the tree, or says why there is none: reason, switch and what was missing.
  Reason plan(const Routes& routes, std::span<const SwitchId> members,
              std::span<const NodeId> taken, NodeSource& source, Tree& tree);
  // After a refusal: around which switch no node was found.
  SwitchId failed_near() const { return failed_near_; }

  static constexpr unsigned kMaxFanIn = 64;
  static constexpr unsigned kMaxDepth = 8;

 private:
  SwitchId failed_near_;
};

}  // namespace sluice::manager
