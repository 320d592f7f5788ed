// SPDX-License-Identifier: Apache-2.0
// Trees from SLUICE_AGG: where the ranks go, what is left out, what comes after a failure.
#include "sharp/client/static_tree.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

namespace sluice::sharp {
namespace {

using ::testing::HasSubstr;
using Hosts = std::vector<std::string>;

TreeSpec spec_of(const char* text) {
  const auto trees = parse_trees(text);
  EXPECT_TRUE(trees) << trees.error().message;
  return trees->front();
}

std::string placed(const char* spec, const Hosts& hosts) {
  const auto tree = place_ranks(spec_of(spec), hosts);
  return tree ? tree->text() : tree.error().message;
}

TEST(PlaceRanks, NearestLeafWhereThatIsClear) {
  const char* spec = "10.79.0.1:7(10.77.1.1:7,10.77.2.1:7)";
  EXPECT_EQ(placed(spec, {"10.77.2.10", "10.77.1.10", "10.77.2.11", "10.77.1.11"}),
            "10.79.0.1:7(10.77.2.1:7 0,2, 10.77.1.1:7 1,3)");
  EXPECT_EQ(placed("r:1([fd00:1::1]:7,[fd00:2::1]:7)", {"fd00:2::5", "fd00:1::5%eth0"}),
            "r:1([fd00:2::1]:7 0, [fd00:1::1]:7 1)");
}

TEST(PlaceRanks, EqualBlocksElsewhere) {
  const char* two = "10.0.0.9:1(10.0.0.1:1,10.0.0.2:1)";
  EXPECT_EQ(placed(two, Hosts(4, "127.0.0.1")), "10.0.0.9:1(10.0.0.1:1 0-1, 10.0.0.2:1 2-3)");
  EXPECT_EQ(placed(two, Hosts(5, "127.0.0.1")), "10.0.0.9:1(10.0.0.1:1 0-2, 10.0.0.2:1 3-4)");
  // Two leaves as near: not clear, so blocks for all.
  EXPECT_EQ(placed(two, {"10.0.0.5", "10.0.0.1"}), "10.0.0.9:1(10.0.0.1:1 0, 10.0.0.2:1 1)");
  EXPECT_EQ(placed("r:1(a:1,b:1,c:1)", {"x", "x"}), "r:1(a:1 0, b:1 1)");
}

TEST(PlaceRanks, LeavesOutWhatGetsNothing) {
  EXPECT_EQ(placed("n:1", Hosts(3, "x")), "n:1 0-2");
  EXPECT_EQ(placed("r:1(a:1,b:1)", {"x"}), "a:1 0");
  EXPECT_EQ(placed("r:1(m:1(a:1,b:1),n:1(c:1,d:1))", Hosts(2, "x")), "r:1(m:1(a:1 0, b:1 1))");
  EXPECT_EQ(placed("r:1(m:1(a:1))", Hosts(2, "x")), "r:1(m:1(a:1 0-1))");
}

TEST(PlaceRanks, RefusesAFullNode) {
  EXPECT_THAT(placed("n:1", Hosts(65, "x")), HasSubstr("node n:1 would have 65 children"));
  EXPECT_THAT(placed("r:1(a:1,b:1)", Hosts(128, "x")), "r:1(a:1 0-63, b:1 64-127)");
  EXPECT_THAT(placed("r:1(a:1,b:1)", Hosts(129, "x")), HasSubstr("node a:1 would have 65"));
}

std::string offered(StaticTreeSource& source) {
  const auto offer = source.poll();
  if (!offer) return offer.error().message;
  return *offer ? (*offer)->tree.text() : "not yet";
}

TEST(StaticTreeSource, OneTreeForEachRail) {
  StaticTreeSource source(*parse_trees("a:1,b:1"));
  TreeRequest request;
  request.hosts = Hosts(2, "x");
  request.window = 8;
  for (const int rail : {0, 1, 2}) {
    request.rail = rail;
    source.request(request);
    EXPECT_EQ(offered(source), rail == 1 ? "b:1 0-1" : "a:1 0-1");
  }
  EXPECT_EQ((*source.poll())->window, 8u);
  EXPECT_EQ((*source.poll())->origin, "SLUICE_AGG");
  EXPECT_EQ(source.revoked(), "");
}

TEST(StaticTreeSource, AfterAFailureAnotherOrTheSameLater) {
  StaticTreeSource source(*parse_trees("r:1(a:1,b:1),r:1(c:1,d:1),e:1"),
                          std::chrono::milliseconds(300));
  TreeRequest request;
  request.hosts = Hosts(2, "x");
  request.avoid = {"b:1"};
  source.request(request);
  EXPECT_EQ(offered(source), "r:1(c:1 0, d:1 1)");
  request.avoid = {"r:1"};
  source.request(request);
  EXPECT_EQ(offered(source), "e:1 0-1");
  request.avoid = {"r:1", "e:1"};
  source.request(request);
  EXPECT_EQ(offered(source), "not yet");
  EXPECT_FALSE(source.worth_asking());
  std::this_thread::sleep_for(std::chrono::milliseconds(310));
  EXPECT_TRUE(source.worth_asking());
  EXPECT_EQ(offered(source), "r:1(a:1 0, b:1 1)");
}

TEST(StaticTreeSource, WithoutATree) {
  StaticTreeSource source({});
  source.request({});
  EXPECT_EQ(offered(source), "SLUICE_AGG names no aggregation node");
}

}  // namespace
}  // namespace sluice::sharp
