// SPDX-License-Identifier: Apache-2.0
// Trees of real nodes for tests, and what a tree's reduction must give: the bits of its brackets.
#pragma once

#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "sharp/client/static_tree.h"
#include "sharp/wire/chunk.h"
#include "tests/sharp/cluster.h"
#include "tests/sharp/exact_numbers.h"
#include "tests/sharp/vectors.h"

namespace sluice::sharp::testing {

// A node for each name in a SLUICE_AGG-like text: "r(a,b)".
class Topology {
 public:
  explicit Topology(const std::string& shape, const NodeLimits& limits = {})
      : Topology(shape, [&](size_t) { return limits; }) {}
  // `limits_of`: of each node, numbered in the order of their names in the text.
  Topology(const std::string& shape, const std::function<NodeLimits(size_t)>& limits_of) {
    const auto parsed = parse_trees(shape);
    EXPECT_TRUE(parsed) << parsed.error().message;
    trees_ = *parsed;
    for (TreeSpec& tree : trees_) start(tree, limits_of);
  }
  const std::vector<TreeSpec>& trees() const { return trees_; }
  NodeThread& node(size_t index) { return *nodes_[index]; }

 private:
  void start(TreeSpec& tree, const std::function<NodeLimits(size_t)>& limits_of) {
    nodes_.push_back(std::make_unique<NodeThread>(transport::TransportChoice::automatic,
                                                  limits_of(nodes_.size())));
    tree.address = nodes_.back()->address().text();
    for (TreeSpec& each : tree.below) start(each, limits_of);
  }

  std::vector<TreeSpec> trees_;
  std::vector<std::unique_ptr<NodeThread>> nodes_;
};

// A node of a tree with its children in order, or a rank.
struct Bracket {
  std::vector<Bracket> children;
  int rank = -1;
};

// Where ranks of one host are put.
inline Bracket brackets_of(const TreeSpec& spec, int ranks) {
  const auto tree =
      place_ranks(spec, std::vector<std::string>(static_cast<size_t>(ranks), "127.0.0.1"));
  EXPECT_TRUE(tree) << tree.error().message;
  Bracket root;
  for (int rank = 0; rank < ranks; ++rank) {
    const Path path = tree->path_of(static_cast<uint16_t>(rank));
    Bracket* at = &root;
    for (auto hop = path.rbegin(); hop != path.rend(); ++hop) {
      at->children.resize(hop->children);
      at = &at->children[hop->child];
    }
    at->rank = rank;
  }
  return root;
}

// What a subtree sends upwards: an element, or a fp32 partial.
struct Sent {
  uint64_t bits = 0;
  bool partial = false;
};

inline Sent reduce_bracket(const Bracket& bracket, DataType type, ReduceOperator reduce_operator,
                           bool partials, const std::vector<uint64_t>& inputs) {
  if (bracket.rank >= 0) return {inputs[static_cast<size_t>(bracket.rank)], false};
  std::vector<Sent> sent;
  for (const Bracket& child : bracket.children) {
    sent.push_back(reduce_bracket(child, type, reduce_operator, partials, inputs));
  }
  if (sent.size() == 1) return sent.front();  // passes through
  ExactReduction reduction(type, reduce_operator);
  reduction.start(sent.front().bits, sent.front().partial);
  for (size_t at = 1; at < sent.size(); ++at) reduction.add(sent[at].bits, sent[at].partial);
  return {reduction.result(partials), partials};
}

inline Bytes expected_of_tree(const Bracket& root, DataType type, ReduceOperator reduce_operator,
                              size_t count, int ranks, uint32_t seed, Precision precision) {
  const bool accumulates =
      reduce_operator == ReduceOperator::sum || reduce_operator == ReduceOperator::product;
  const bool partials = precision == Precision::exact && accumulates && travels_as_partial(type);
  std::vector<Bytes> inputs;
  for (int rank = 0; rank < ranks; ++rank) inputs.push_back(input_of(type, count, rank, seed));
  const size_t size = size_of(type);
  Bytes result(count * size);
  std::vector<uint64_t> column(inputs.size());
  for (size_t at = 0; at < count; ++at) {
    for (size_t rank = 0; rank < inputs.size(); ++rank) {
      column[rank] = 0;
      std::memcpy(&column[rank], inputs[rank].data() + at * size, size);
    }
    const Sent sent = reduce_bracket(root, type, reduce_operator, partials, column);
    ExactReduction rounding(type, reduce_operator);
    rounding.start(sent.bits, sent.partial);
    const uint64_t bits = rounding.result(false);
    std::memcpy(result.data() + at * size, &bits, size);
  }
  return result;
}

inline constexpr DataType kEveryType[] = {
    DataType::int8,    DataType::uint8,    DataType::int32,       DataType::uint32,
    DataType::int64,   DataType::uint64,   DataType::float16,     DataType::float32,
    DataType::float64, DataType::bfloat16, DataType::float8_e4m3, DataType::float8_e5m2};

}  // namespace sluice::sharp::testing
