// SPDX-License-Identifier: Apache-2.0
// Trees as data: what is refused, who is whose child, how it reads.
#include "sharp/client/tree.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sharp/client/tree_spec.h"

namespace sluice::sharp {
namespace {

using ::testing::HasSubstr;

Tree flat(size_t ranks) {
  return {{{"n:1"}}, std::vector<uint16_t>(ranks, 0)};
}

// r(a 0,3, m(b 1,2) ), and rank 4 straight at the root.
Tree mixed() {
  return {{{"a:1", 2}, {"m:1", 2}, {"r:1"}, {"b:1", 1}}, {0, 3, 3, 0, 2}};
}

TEST(Tree, PathsCountChildrenInTheOrderOfTheLowestRank) {
  const Tree tree = mixed();
  ASSERT_TRUE(tree.check());
  EXPECT_EQ(tree.path_of(0), (Path{{"a:1", 2, 0}, {"r:1", 3, 0}}));
  EXPECT_EQ(tree.path_of(3), (Path{{"a:1", 2, 1}, {"r:1", 3, 0}}));
  EXPECT_EQ(tree.path_of(2), (Path{{"b:1", 2, 1}, {"m:1", 1, 0}, {"r:1", 3, 1}}));
  EXPECT_EQ(tree.path_of(4), (Path{{"r:1", 3, 2}}));
  for (uint16_t rank = 0; rank < 5; ++rank) EXPECT_TRUE(check(tree.path_of(rank)));
}

TEST(Tree, ReadsAsItBrackets) {
  EXPECT_EQ(flat(8).text(), "n:1 0-7");
  EXPECT_EQ(flat(1).text(), "n:1 0");
  EXPECT_EQ(mixed().text(), "r:1(a:1 0,3, m:1(b:1 1-2), 4)");
}

TEST(Tree, ShapeIsWithoutAddresses) {
  Tree other = mixed();
  other.nodes[0].address = "elsewhere:1";
  EXPECT_TRUE(other.same_shape(mixed()));
  other.leaf_of_rank[3] = 3;
  EXPECT_FALSE(other.same_shape(mixed()));
  EXPECT_FALSE(flat(3).same_shape(flat(4)));
}

TEST(Tree, RefusesWhatIsNoTree) {
  const auto sentence = [](const Tree& tree) {
    const Status status = tree.check();
    return status ? std::string("no objection") : status.error().message;
  };
  EXPECT_EQ(sentence(flat(64)), "no objection");
  EXPECT_THAT(sentence(flat(65)), HasSubstr("node n:1 would have 65 children and takes 64"));
  EXPECT_THAT(sentence(flat(0)), HasSubstr("1 to 4096 ranks, not 0"));
  EXPECT_THAT(sentence({}), HasSubstr("cannot have 0 nodes"));
  EXPECT_THAT(sentence({{{"a:1", 1}, {"b:1", 0}}, {0}}), HasSubstr("more than 8 levels"));
  EXPECT_THAT(sentence({{{"a:1"}, {"b:1"}}, {0, 1}}), HasSubstr("2 roots"));
  EXPECT_THAT(sentence({{{"a:1", 7}}, {0}}), HasSubstr("below none"));
  EXPECT_THAT(sentence({{{"a:1"}, {"b:1", 0}}, {0}}), HasSubstr("b:1 has nothing below it"));
  EXPECT_THAT(sentence({{{"a:1"}}, {0, 1}}), HasSubstr("rank 1 is below no node"));
  EXPECT_THAT(sentence({{{""}}, {0}}), HasSubstr("no address"));
}

TEST(TreeSpec, Grammar) {
  for (const char* text :
       {"a:1", "a:1,b:1,c:1", "r:1(a:1,b:1)", "r:1(m:1(a:1),b:1),[fe80::1%eth0]:7"}) {
    const auto trees = parse_trees(text);
    ASSERT_TRUE(trees) << trees.error().message;
    std::string back;
    for (const TreeSpec& tree : *trees) back += (back.empty() ? "" : ",") + tree.text();
    EXPECT_EQ(back, text);
  }
  const auto blanks = parse_trees(" r:1 ( a:1 , b:1 ) , c:1 ");
  ASSERT_TRUE(blanks);
  ASSERT_EQ(blanks->size(), 2u);
  EXPECT_EQ((*blanks)[0].text(), "r:1(a:1,b:1)");
  EXPECT_EQ((*blanks)[1].text(), "c:1");
}

TEST(TreeSpec, SaysWhereTheFaultIs) {
  const auto sentence = [](const char* text) {
    const auto trees = parse_trees(text);
    return trees ? std::string("accepted") : trees.error().message;
  };
  EXPECT_THAT(sentence("r:1(a:1"), HasSubstr("a ( without its ) at character 8"));
  EXPECT_THAT(sentence("r:1)"), HasSubstr("a ) without its ( at character 4"));
  EXPECT_THAT(sentence("a:1,,b:1"), HasSubstr("a node without an address at character 5"));
  EXPECT_THAT(sentence("(a:1)"), HasSubstr("a node without an address at character 1"));
  EXPECT_THAT(sentence("1(1(1(1(1(1(1(1(1))))))))"), HasSubstr("more than 8 levels"));
}

}  // namespace
}  // namespace sluice::sharp
