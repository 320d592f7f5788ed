// SPDX-License-Identifier: Apache-2.0
// A tree of nodes and its ranks on one thread, over memory connections.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "sharp/agg/node.h"
#include "sharp/client/tree.h"
#include "tests/sharp/agg/wire_peer.h"
#include "tests/sharp/memory_connection.h"
#include "tests/sharp/recorded_log.h"

namespace sluice::sharp::testing {

// Nodes that find each other by name.
class NodeStreet final : public ParentDialer {
 public:
  explicit NodeStreet(const Logger& logger) : logger_(logger) {}
  AggregationNode& open(const std::string& name, const NodeLimits& limits = {});
  void close(const std::string& name) { nodes_.erase(name); }
  AggregationNode& operator[](const std::string& name) { return *nodes_.at(name); }
  std::map<std::string, std::unique_ptr<AggregationNode>>& nodes() { return nodes_; }
  Result<std::unique_ptr<transport::Connector>> dial(const std::string& node) override;
  // Both ways.
  std::unique_ptr<transport::Connection> connect(const std::string& node, const Mischief& up = {},
                                                 const Mischief& down = {});
  // All nodes, once.
  void step();

  Mischief between_up;  // nodes
  Mischief between_down;

 private:
  const Logger logger_;
  std::map<std::string, std::unique_ptr<AggregationNode>> nodes_;
};

// "1+2": see the tests. Leaves take equal blocks of ranks.
Tree flat(int ranks);
Tree two_levels(int leaves, int ranks);
Tree three_levels(int inner, int leaves, int ranks);
// So many nodes in a row above the only leaf.
Tree chain(int nodes, int ranks);
// Rank 0 at the root, 1 and 2 at a leaf, the others below an inner node: one at it, the rest at a
// leaf of its own.
Tree uneven(int ranks);

struct TreeOptions {
  Tree tree;
  Precision precision = Precision::compact;
  NodeLimits limits;
  double delivery = 1.0;  // see Mischief
  uint32_t seed = 1;
  // Applied to all connections, in both directions, when set.
  std::function<void(std::span<std::byte>)> corrupt;
};

class TreeRig {
 public:
  // All ranks ask to join.
  explicit TreeRig(const TreeOptions& options);

  int size() const { return static_cast<int>(ranks.size()); }
  void step();
  // Steps until every rank is in or has been answered otherwise.
  bool settle(int most_steps = 2000);
  // All ranks call; the results by rank, or a failure of the test.
  std::vector<PeerOperation*> post(const Call& call, const std::vector<Bytes>& inputs);
  bool finish(int most_steps = 100000);
  // The bracketing of this tree over the inputs.
  Bytes expected(const Call& call, const std::vector<Bytes>& inputs) const;

  const TreeOptions options;
  RecordedLog log;
  NodeStreet street;
  GroupShape shape;
  std::vector<std::unique_ptr<WirePeer>> ranks;

 private:
  struct Partial {
    Bytes bytes;
    bool partial = false;
  };
  Partial reduced(const std::string& node, const Call& call,
                  const std::vector<Bytes>& inputs) const;
};

Bytes random_input(const Call& call, uint32_t seed);

}  // namespace sluice::sharp::testing
