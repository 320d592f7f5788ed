// SPDX-License-Identifier: Apache-2.0
// A site for tests of survival: sluice-agg processes in trees, which can be killed and started
// again on the same port. Thread rule: one thread.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sharp/client/tree_spec.h"
#include "tests/sharp/process.h"

namespace sluice::sharp::testing {

class Site {
 public:
  // Starts as many nodes; `arguments`: further ones for each.
  explicit Site(size_t nodes, std::vector<std::string> arguments = {});
  ~Site();
  Site(const Site&) = delete;
  Site& operator=(const Site&) = delete;

  const std::string& address(size_t node) const { return nodes_[node].address; }
  // nodes_[root] over the others.
  TreeSpec tree(size_t root, const std::vector<size_t>& leaves = {}) const;

  void signal(size_t node, int number) { nodes_[node].process->signal(number); }
  void kill(size_t node) { nodes_[node].process.reset(); }
  bool runs(size_t node) const { return nodes_[node].process.has_value(); }
  void start(size_t node);
  std::string log(size_t node) const;

 private:
  struct Node {
    std::string address;
    std::optional<Process> process;
  };
  std::string file(size_t node, const std::string& name) const;

  const std::vector<std::string> arguments_;
  std::string folder_;
  std::vector<Node> nodes_;
};

}  // namespace sluice::sharp::testing
