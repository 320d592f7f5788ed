// SPDX-License-Identifier: Apache-2.0
// The tree among the ranks: the brackets of the lost one, and a rank for every node.
#include "sharp/client/recovery/substitute.h"

#include <gtest/gtest.h>

#include <set>

namespace sluice::sharp {
namespace {

TEST(Substitute, LeavesOutWhatReducesNothing) {
  Tree chain;
  chain.nodes = {{"top:1", kNoParent}, {"middle:1", 0}, {"leaf:1", 1}};
  chain.leaf_of_rank = {2, 2, 2};
  const Substitute substitute = substitute_for(chain);
  EXPECT_EQ(substitute.tree.nodes.size(), 1U);
  EXPECT_EQ(substitute.hosts, std::vector<uint16_t>{0});
  EXPECT_TRUE(substitute.tree.check());
}

TEST(Substitute, OneRankKeepsANode) {
  Tree one;
  one.nodes = {{"top:1", kNoParent}, {"leaf:1", 0}};
  one.leaf_of_rank = {1};
  const Substitute substitute = substitute_for(one);
  EXPECT_EQ(substitute.tree.nodes.size(), 1U);
  EXPECT_TRUE(substitute.tree.check());
}

TEST(Substitute, EveryRankHostsOneNodeAtMost) {
  // A complete binary tree over 16 ranks, nodes in any order.
  Tree tree;
  for (uint16_t node = 0; node < 15; ++node) {
    const auto parent = node == 14 ? kNoParent : static_cast<uint16_t>(8 + node / 2);
    tree.nodes.push_back({"n" + std::to_string(node) + ":1", parent});
  }
  for (uint16_t rank = 0; rank < 16; ++rank) {
    tree.leaf_of_rank.push_back(static_cast<uint16_t>(rank / 2));
  }
  ASSERT_TRUE(tree.check());
  const Substitute substitute = substitute_for(tree);
  EXPECT_TRUE(substitute.tree.check());
  ASSERT_EQ(substitute.hosts.size(), 15U);
  std::set<uint16_t> hosts(substitute.hosts.begin(), substitute.hosts.end());
  EXPECT_EQ(hosts.size(), 15U);
  EXPECT_FALSE(hosts.contains(kNoMember));
  // Same places for every rank.
  for (uint16_t rank = 0; rank < 16; ++rank) {
    const Path before = tree.path_of(rank);
    const Path after = substitute.tree.path_of(rank);
    ASSERT_EQ(before.size(), after.size());
    for (size_t hop = 0; hop < before.size(); ++hop) {
      EXPECT_EQ(before[hop].child, after[hop].child);
      EXPECT_EQ(before[hop].children, after[hop].children);
    }
  }
}

TEST(Substitute, ShapeDoesNotDependOnTheOrderOfNodes) {
  Tree in_order;
  in_order.nodes = {{"root:1", kNoParent}, {"leafa:1", 0}, {"leafb:1", 0}};
  in_order.leaf_of_rank = {1, 1, 2, 2};
  Tree other;
  other.nodes = {{"b:1", 2}, {"a:1", 2}, {"r:1", kNoParent}};
  other.leaf_of_rank = {1, 1, 0, 0};
  EXPECT_TRUE(brackets_of(other).same_shape(brackets_of(in_order)));
  other.leaf_of_rank = {1, 0, 0, 0};
  EXPECT_FALSE(brackets_of(other).same_shape(brackets_of(in_order)));
}

}  // namespace
}  // namespace sluice::sharp
