// SPDX-License-Identifier: Apache-2.0
#include "sharp/client/tree.h"

#include <algorithm>

namespace sluice::sharp {
namespace {

constexpr uint32_t kNothingBelow = UINT32_MAX;

// A child of a node: a node, or a rank.
struct TreeChild {
  uint32_t lowest_rank = kNothingBelow;
  uint16_t node = kNoParent;  // kNoParent: the child is the rank itself
};

// The lowest rank below each node. Parents may stand anywhere, so every leaf is followed upwards.
std::vector<uint32_t> lowest_ranks(const Tree& tree) {
  std::vector<uint32_t> lowest(tree.nodes.size(), kNothingBelow);
  for (uint32_t rank = 0; rank < tree.leaf_of_rank.size(); ++rank) {
    uint16_t node = tree.leaf_of_rank[rank];
    while (node != kNoParent && lowest[node] == kNothingBelow) {
      lowest[node] = rank;
      node = tree.nodes[node].parent;
    }
  }
  return lowest;
}

std::vector<TreeChild> children_of(const Tree& tree, const std::vector<uint32_t>& lowest,
                                   uint16_t node) {
  std::vector<TreeChild> children;
  for (size_t other = 0; other < tree.nodes.size(); ++other) {
    if (tree.nodes[other].parent != node) continue;
    children.push_back({lowest[other], static_cast<uint16_t>(other)});
  }
  for (uint32_t rank = 0; rank < tree.leaf_of_rank.size(); ++rank) {
    if (tree.leaf_of_rank[rank] == node) children.push_back({rank, kNoParent});
  }
  std::sort(children.begin(), children.end(),
            [](const TreeChild& a, const TreeChild& b) { return a.lowest_rank < b.lowest_rank; });
  return children;
}

Status check_ways_up(const Tree& tree) {
  int roots = 0;
  for (const TreeNode& node : tree.nodes) {
    if (node.address.empty()) return fail(ErrorKind::refused, "a node of the tree has no address");
    if (node.parent == kNoParent) ++roots;
    size_t depth = 1;
    for (uint16_t up = node.parent; up != kNoParent; up = tree.nodes[up].parent) {
      if (up >= tree.nodes.size()) {
        return fail(ErrorKind::refused, "node " + node.address + " is below none of the tree");
      }
      if (++depth > kMaxTreeDepth) {
        return fail(ErrorKind::refused, format_text("the tree has more than %zu levels above %s",
                                                    kMaxTreeDepth, node.address.c_str()));
      }
    }
  }
  if (roots != 1) return fail(ErrorKind::refused, format_text("the tree has %d roots", roots));
  return {};
}

Status check_ranks(const Tree& tree) {
  const size_t ranks = tree.leaf_of_rank.size();
  if (ranks < 1 || ranks > kMaxMembers) {
    return fail(ErrorKind::refused,
                format_text("a tree has 1 to %u ranks, not %zu", unsigned{kMaxMembers}, ranks));
  }
  for (size_t rank = 0; rank < ranks; ++rank) {
    if (tree.leaf_of_rank[rank] >= tree.nodes.size()) {
      return fail(ErrorKind::refused, format_text("rank %zu is below no node of the tree", rank));
    }
  }
  return {};
}

Status check_fan_in(const Tree& tree) {
  std::vector<size_t> children(tree.nodes.size(), 0);
  for (const TreeNode& node : tree.nodes) {
    if (node.parent != kNoParent) ++children[node.parent];
  }
  for (const uint16_t leaf : tree.leaf_of_rank) ++children[leaf];
  for (size_t node = 0; node < tree.nodes.size(); ++node) {
    const char* address = tree.nodes[node].address.c_str();
    if (children[node] == 0) {
      return fail(ErrorKind::refused, format_text("node %s has nothing below it", address));
    }
    if (children[node] > kMaxFanIn) {
      return fail(ErrorKind::refused,
                  format_text("node %s would have %zu children and takes %u: put the ranks below "
                              "more nodes, SLUICE_AGG=root:port(leaf:port,leaf:port)",
                              address, children[node], unsigned{kMaxFanIn}));
    }
  }
  return {};
}

void append_range(std::string& text, uint32_t first, uint32_t last) {
  text += first == last ? std::to_string(first) : format_text("%u-%u", first, last);
}

std::string text_below(const Tree& tree, const std::vector<uint32_t>& lowest, uint16_t node) {
  const auto children = children_of(tree, lowest, node);
  const bool ranks_only = std::all_of(children.begin(), children.end(),
                                      [](const TreeChild& c) { return c.node == kNoParent; });
  std::string text = tree.nodes[node].address;
  text += ranks_only ? ' ' : '(';
  for (size_t at = 0; at < children.size();) {
    if (at > 0) text += ranks_only ? "," : ", ";
    const TreeChild& child = children[at++];
    if (child.node != kNoParent) {
      text += text_below(tree, lowest, child.node);
      continue;
    }
    uint32_t last = child.lowest_rank;
    while (at < children.size() && children[at].node == kNoParent &&
           children[at].lowest_rank == last + 1) {
      ++last;
      ++at;
    }
    append_range(text, child.lowest_rank, last);
  }
  if (!ranks_only) text += ')';
  return text;
}

}  // namespace

Status Tree::check() const {
  if (nodes.empty() || nodes.size() >= kNoParent) {
    return fail(ErrorKind::refused, format_text("a tree cannot have %zu nodes", nodes.size()));
  }
  SLUICE_RETURN_IF_ERROR(check_ways_up(*this));
  SLUICE_RETURN_IF_ERROR(check_ranks(*this));
  return check_fan_in(*this);
}

Path Tree::path_of(uint16_t rank) const {
  const auto lowest = lowest_ranks(*this);
  Path path;
  uint16_t from = kNoParent;  // the node that the way comes from; at the leaf: the rank
  for (uint16_t node = leaf_of_rank[rank]; node != kNoParent; node = nodes[node].parent) {
    const auto children = children_of(*this, lowest, node);
    const auto child = std::find_if(children.begin(), children.end(), [&](const TreeChild& each) {
      return each.node == from && (from != kNoParent || each.lowest_rank == rank);
    });
    path.push_back({nodes[node].address, static_cast<uint16_t>(children.size()),
                    static_cast<uint16_t>(child - children.begin())});
    from = node;
  }
  return path;
}

std::string Tree::text() const {
  const auto root = std::find_if(nodes.begin(), nodes.end(),
                                 [](const TreeNode& node) { return node.parent == kNoParent; });
  if (root == nodes.end()) return "no tree";
  return text_below(*this, lowest_ranks(*this), static_cast<uint16_t>(root - nodes.begin()));
}

bool Tree::same_shape(const Tree& other) const {
  return leaf_of_rank == other.leaf_of_rank &&
         std::equal(nodes.begin(), nodes.end(), other.nodes.begin(), other.nodes.end(),
                    [](const TreeNode& a, const TreeNode& b) { return a.parent == b.parent; });
}

}  // namespace sluice::sharp
