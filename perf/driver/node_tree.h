// SPDX-License-Identifier: Apache-2.0
// NodeTree: the aggregation nodes of a job, started and ended by the launcher; one process each.
//
// A shape is the fan-outs from the root down: "2" is a root with two leaves, "2x2" a root, two
// inner nodes and four leaves, empty one node for all. Nodes are called root, inner0.. and leaf0..,
// a lone one root as well as leaf0. Thread rule: a process without other threads (it forks).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "perf/driver/node_process.h"

namespace sluice::perf {

struct TreeShape {
  std::vector<int> fan_out;  // from the root down

  static Result<TreeShape> parse(std::string_view text);
  int levels() const { return static_cast<int>(fan_out.size()) + 1; }
};

class NodeTree {
 public:
  // `arguments` go to every node.
  static Result<NodeTree> start(const TreeShape& shape, const NodeProgram& program);

  // As SLUICE_AGG wants it: "root(leaf,leaf)".
  std::string text() const { return text_of(0); }
  // The process of that name; null when there is none.
  NodeProcess* find(std::string_view name);
  int size() const { return static_cast<int>(nodes_.size()); }
  std::string names() const;  // "root, leaf0, leaf1", for a sentence

 private:
  struct Node {
    std::string name;
    std::vector<size_t> children;
    NodeProcess process;
  };

  NodeTree() = default;
  Result<size_t> add(const TreeShape& shape, const NodeProgram& program, size_t level);
  std::string text_of(size_t node) const;

  std::vector<Node> nodes_;  // parents before children
  int inner_ = 0;
  int leaves_ = 0;
};

}  // namespace sluice::perf
