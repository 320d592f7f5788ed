// SPDX-License-Identifier: Apache-2.0
#include "tests/manager/trees.h"

#include <algorithm>
#include <set>
#include <vector>

namespace sluice::manager::testing {

namespace {

std::string text_below(const Fabric& fabric, const Tree& tree, const TreeNode& node) {
  const Node& described = fabric.node(node.node);
  std::string name = fabric.switch_at(described.at).name;
  if (described.description.address != format_text("%s:1", name.c_str()))
    name = described.description.address;
  std::string text;
  for (const TreeChild& child : tree.children_of(node)) {
    if (!text.empty()) text += ' ';
    text += child.kind == TreeChild::Kind::rank ? std::to_string(child.index)
                                                : text_below(fabric, tree, tree.nodes[child.index]);
  }
  return format_text("%s(%s)", name.c_str(), text.c_str());
}

// The lowest rank below a child, by walking.
size_t lowest_rank(const Tree& tree, const TreeChild& child) {
  if (child.kind == TreeChild::Kind::rank) return child.index;
  size_t lowest = SIZE_MAX;
  for (const TreeChild& below : tree.children_of(tree.nodes[child.index])) {
    lowest = std::min(lowest, lowest_rank(tree, below));
  }
  return lowest;
}

}  // namespace

std::string text_of(const Fabric& fabric, const Tree& tree) {
  return tree.nodes.empty() ? "" : text_below(fabric, tree, tree.nodes[0]);
}

std::string what_is_wrong(const Fabric& fabric, const Tree& tree, size_t ranks) {
  if (tree.nodes.empty()) return "no root";
  if (tree.nodes[0].parent != TreeNode::kNoParent) return "the root has a parent";
  if (tree.leaf_of_rank.size() != ranks) return "not every rank has a leaf";
  std::set<NodeId> nodes;
  std::vector<int> seen(ranks);
  std::vector<int> seen_nodes(tree.nodes.size());
  size_t children = 0;
  for (size_t place = 0; place < tree.nodes.size(); ++place) {
    const TreeNode& node = tree.nodes[place];
    if (!nodes.insert(node.node).second) return "a node is there twice";
    if (place != 0 && node.parent >= place) return "a parent comes after its child";
    if (node.children > fabric.node(node.node).description.fan_in) return "too many children";
    if (node.children == 0) return "a node without children";
    if (node.children == 1 && ranks > 1) return "a node with one child";
    if (size_t{node.first_child} + node.children > tree.children.size()) return "children missing";
    children += node.children;
    size_t last = 0;
    for (const TreeChild& child : tree.children_of(node)) {
      const size_t lowest = lowest_rank(tree, child);
      if (&child != &tree.children_of(node).front() && lowest <= last) return "children unordered";
      last = lowest;
      if (child.kind == TreeChild::Kind::node) {
        if (child.index >= tree.nodes.size() || tree.nodes[child.index].parent != place) {
          return "a child that does not know its parent";
        }
        ++seen_nodes[child.index];
        continue;
      }
      if (child.index >= ranks) return "a rank that does not exist";
      if (tree.leaf_of_rank[child.index] != place) return "a rank under another leaf than named";
      ++seen[child.index];
    }
  }
  if (children != tree.children.size()) return "children of nobody";
  if (std::any_of(seen.begin(), seen.end(), [](int times) { return times != 1; })) {
    return "a rank is not there exactly once";
  }
  if (seen_nodes[0] != 0) return "the root is a child";
  if (std::any_of(seen_nodes.begin() + 1, seen_nodes.end(), [](int times) { return times != 1; })) {
    return "a node is not a child exactly once";
  }
  return {};
}

}  // namespace sluice::manager::testing
