// SPDX-License-Identifier: Apache-2.0
#include "tests/sharp/agg/tree_rig.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>

#include "sharp/agg/combine.h"
#include "sharp/reduce/reduce.h"
#include "tests/sharp/group_rig.h"

namespace sluice::sharp::testing {
namespace {

std::string name_of_node(size_t node) {
  return format_text("n%zu:1", node);
}

Tree tree_of(const std::vector<int>& parents, const std::vector<int>& leaf_of_rank) {
  Tree tree;
  for (size_t node = 0; node < parents.size(); ++node) {
    const int parent = parents[node];
    tree.nodes.push_back(
        {name_of_node(node), parent < 0 ? kNoParent : static_cast<uint16_t>(parent)});
  }
  for (const int leaf : leaf_of_rank) tree.leaf_of_rank.push_back(static_cast<uint16_t>(leaf));
  return tree;
}

std::vector<int> blocks(int first_leaf, int leaves, int ranks) {
  std::vector<int> leaf_of_rank;
  for (int rank = 0; rank < ranks; ++rank) {
    leaf_of_rank.push_back(first_leaf + rank * leaves / ranks);
  }
  return leaf_of_rank;
}

}  // namespace

Tree flat(int ranks) {
  return tree_of({-1}, blocks(0, 1, ranks));
}

Tree two_levels(int leaves, int ranks) {
  std::vector<int> parents = {-1};
  parents.insert(parents.end(), static_cast<size_t>(leaves), 0);
  return tree_of(parents, blocks(1, leaves, ranks));
}

Tree three_levels(int inner, int leaves, int ranks) {
  std::vector<int> parents = {-1};
  parents.insert(parents.end(), static_cast<size_t>(inner), 0);
  for (int leaf = 0; leaf < leaves; ++leaf) parents.push_back(1 + leaf * inner / leaves);
  return tree_of(parents, blocks(1 + inner, leaves, ranks));
}

Tree chain(int nodes, int ranks) {
  std::vector<int> parents = {-1};
  for (int node = 1; node < nodes; ++node) parents.push_back(node - 1);
  return tree_of(parents, blocks(nodes - 1, 1, ranks));
}

Tree uneven(int ranks) {
  std::vector<int> leaf_of_rank = {0, 1, 1, 2};
  while (static_cast<int>(leaf_of_rank.size()) < ranks) leaf_of_rank.push_back(3);
  return tree_of({-1, 0, 0, 2}, leaf_of_rank);
}

AggregationNode& NodeStreet::open(const std::string& name, const NodeLimits& limits) {
  return *(nodes_[name] = std::make_unique<AggregationNode>(logger_, limits, *this));
}

Result<std::unique_ptr<transport::Connector>> NodeStreet::dial(const std::string& node) {
  if (!nodes_.contains(node)) return std::make_unique<MemoryConnector>(nullptr);
  return std::make_unique<MemoryConnector>(connect(node, between_up, between_down));
}

std::unique_ptr<transport::Connection> NodeStreet::connect(const std::string& node,
                                                           const Mischief& up,
                                                           const Mischief& down) {
  MemoryPair pair = make_memory_pair(up, down);
  nodes_.at(node)->adopt(std::move(pair.second));
  ++between_up.seed;
  ++between_down.seed;
  return std::move(pair.first);
}

void NodeStreet::step() {
  for (auto& [name, node] : nodes_) {
    node->activate_all();
    node->step();
  }
}

TreeRig::TreeRig(const TreeOptions& wanted) : options(wanted), street(log.logger()) {
  const auto members = static_cast<int>(options.tree.leaf_of_rank.size());
  shape = small_shape(members);
  shape.precision = options.precision;
  street.between_up = {options.delivery, options.seed * 1000 + 1, options.corrupt};
  street.between_down = {options.delivery, options.seed * 1000 + 500, options.corrupt};
  for (const TreeNode& node : options.tree.nodes) street.open(node.address, options.limits);
  for (uint16_t rank = 0; rank < members; ++rank) {
    Join join;
    join.shape = shape;
    join.path = options.tree.path_of(rank);
    join.ranks = {{rank, 1}};
    join.host = format_text("host%u", unsigned{rank});
    const Mischief up{options.delivery, options.seed * 7919 + rank * 2u, options.corrupt};
    const Mischief down{options.delivery, options.seed * 7919 + rank * 2u + 1, options.corrupt};
    ranks.push_back(
        std::make_unique<WirePeer>(street.connect(join.path.front().node, up, down), join));
  }
}

void TreeRig::step() {
  street.step();
  for (auto& rank : ranks) rank->drive();
}

bool TreeRig::settle(int most_steps) {
  for (int at = 0; at < most_steps; ++at) {
    step();
    size_t answered = 0;
    for (const auto& rank : ranks) {
      answered += rank->is_in() || rank->refused || rank->group_error || !rank->lost.empty();
    }
    if (answered == ranks.size()) return true;
  }
  return false;
}

std::vector<PeerOperation*> TreeRig::post(const Call& call, const std::vector<Bytes>& inputs) {
  std::vector<PeerOperation*> posted;
  for (size_t rank = 0; rank < ranks.size(); ++rank) {
    posted.push_back(&ranks[rank]->post(call, inputs[rank]));
  }
  return posted;
}

bool TreeRig::finish(int most_steps) {
  for (int at = 0; at < most_steps; ++at) {
    bool done = true;
    for (const auto& rank : ranks) {
      for (const PeerOperation& operation : rank->operations) done &= operation.done();
      if (!rank->lost.empty() || rank->group_error) return false;
    }
    if (done) return true;
    step();
  }
  return false;
}

TreeRig::Partial TreeRig::reduced(const std::string& node, const Call& call,
                                  const std::vector<Bytes>& inputs) const {
  std::map<uint16_t, Partial> children;  // by number
  bool root = false;
  for (uint16_t rank = 0; rank < inputs.size(); ++rank) {
    const Path path = options.tree.path_of(rank);
    for (size_t level = 0; level < path.size(); ++level) {
      if (path[level].node != node) continue;
      root = level + 1 == path.size();
      if (children.contains(path[level].child)) continue;
      children[path[level].child] =
          level == 0 ? Partial{inputs[rank], false} : reduced(path[level - 1].node, call, inputs);
    }
  }
  ChunkHeader header;
  header.type = call.type;
  header.reduce_operator = call.reduce_operator;
  const bool exact = passes_partials(options.precision, header);
  if (children.size() == 1 && (!root || !children.begin()->second.partial)) {
    return children.begin()->second;
  }
  std::vector<ReduceInput> forms;
  for (const auto& [number, child] : children) {
    forms.push_back({child.bytes.data(), child.partial ? Form::partial : Form::element});
  }
  const Form form = exact && !root ? Form::partial : Form::element;
  Partial out{Bytes(call.elements * size_of(call.type, form)), form == Form::partial};
  reduce(call.type, call.reduce_operator, out.bytes.data(), form, forms, call.elements);
  return out;
}

Bytes TreeRig::expected(const Call& call, const std::vector<Bytes>& inputs) const {
  if (call.collective == Collective::gather) return inputs[call.focus];
  for (const TreeNode& node : options.tree.nodes) {
    if (node.parent == kNoParent) return reduced(node.address, call, inputs).bytes;
  }
  return {};
}

Bytes random_input(const Call& call, uint32_t seed) {
  std::mt19937 random(seed);
  Bytes bytes(call.bytes());
  // Small numbers in every format: bit patterns near one for the narrow floats, so that sums round.
  for (size_t at = 0; at < bytes.size(); ++at) bytes[at] = static_cast<std::byte>(random());
  const size_t size = size_of(call.type);
  for (size_t element = 0; element < call.elements; ++element) {
    std::byte* value = bytes.data() + element * size;
    const auto sign = static_cast<uint8_t>(random() % 2 << 7);
    switch (call.type) {
      case DataType::bfloat16:
        value[1] = static_cast<std::byte>(sign | 0x3f);
        break;
      case DataType::float16:
        value[1] = static_cast<std::byte>(sign | (0x38 + random() % 8));
        break;
      case DataType::float32:
        value[3] = static_cast<std::byte>(sign | 0x3f);
        break;
      case DataType::float64:
        value[7] = static_cast<std::byte>(sign | 0x3f);
        break;
      case DataType::float8_e4m3:
        value[0] = static_cast<std::byte>(sign | (0x30 + random() % 16));
        break;
      case DataType::float8_e5m2:
        value[0] = static_cast<std::byte>(sign | (0x38 + random() % 8));
        break;
      default:
        break;
    }
  }
  return bytes;
}

}  // namespace sluice::sharp::testing
