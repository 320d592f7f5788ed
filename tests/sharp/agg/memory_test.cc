// SPDX-License-Identifier: Apache-2.0
// A node's memory: idle groups own none, those that want theirs again wait their turn.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <map>
#include <thread>

#include "tests/sharp/agg/tree_rig.h"

namespace sluice::sharp {
namespace {

using testing::Call;
using ::testing::HasSubstr;
using testing::NodeStreet;
using testing::RecordedLog;
using testing::WirePeer;

constexpr char kNode[] = "n:1";
constexpr auto kShort = std::chrono::milliseconds(30);

size_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  size_t total = 0;
  size_t resident = 0;
  file >> total >> resident;
  return resident * static_cast<size_t>(::sysconf(_SC_PAGESIZE));
}

// Groups of two ranks on one node.
class Memory : public ::testing::Test {
 protected:
  using Pair = std::vector<std::unique_ptr<WirePeer>>;

  static GroupShape shape_of(int number) {
    GroupShape shape;
    shape.group[0] = static_cast<uint8_t>(number);
    shape.group[1] = static_cast<uint8_t>(number >> 8);
    shape.members = 2;
    shape.chunk_bytes = 64 << 10;
    shape.window = 4;
    shape.latency_bytes = 64;
    shape.latency_window = 4;
    return shape;
  }
  static size_t bytes_of_a_group() {
    Join join;
    join.shape = shape_of(0);
    join.path = {{kNode, 2, 0}};
    return Group::memory_for(join);
  }
  // Links are numbered as they come, from 1.
  Pair form(int number) {
    Pair pair;
    last_link_ += 2;
    for (uint16_t rank = 0; rank < 2; ++rank) {
      Join join;
      join.shape = shape_of(number);
      join.path = {{kNode, 2, rank}};
      join.ranks = {{rank, 1}};
      join.host = "host";
      pair.push_back(std::make_unique<WirePeer>(street_.connect(kNode), join));
    }
    for (int at = 0; at < 100 && !(pair[0]->is_in() && pair[1]->is_in()); ++at) step(pair);
    EXPECT_TRUE(pair[0]->is_in() && pair[1]->is_in());
    link_of_[pair.data()] = last_link_ - 1;
    return pair;
  }
  // Only the newest group and those at work are looked at: a thousand idle ones would take their
  // time.
  void step(Pair& pair) {
    AggregationNode& node = street_[kNode];
    const uint64_t first = link_of_.contains(pair.data()) ? link_of_[pair.data()] : last_link_ - 1;
    node.on_event(first);
    node.on_event(first + 1);
    node.step();
    node.rest(Duration::zero());
    for (auto& rank : pair) rank->drive();
  }
  // Both ranks call, or one of them.
  void post(Pair& pair, size_t ranks = 2) {
    Call call;
    call.elements = 4 * (64 << 10) / sizeof(float);
    for (size_t rank = 0; rank < ranks; ++rank) {
      pair[rank]->operations.clear();
      pair[rank]->post(call, testing::Bytes(call.bytes(), std::byte{1}));
    }
  }
  bool finish(Pair& pair) {
    for (int at = 0; at < 1000; ++at) {
      step(pair);
      if (pair[0]->operations.back().done() && pair[1]->operations.back().done()) return true;
    }
    return false;
  }
  void let_idle() {
    for (int at = 0; at < 3; ++at) {
      street_.step();
      street_[kNode].tidy();
      std::this_thread::sleep_for(kShort * 2);
    }
    street_[kNode].tidy();
  }

  uint64_t last_link_ = 0;
  std::map<const void*, uint64_t> link_of_;  // by the memory of the pair, which moves with it
  RecordedLog log_;
  NodeStreet street_{log_.logger()};
};

// Of a group and its two peers. AddressSanitizer has shadows, and keeps what was freed for a while.
#if defined(__SANITIZE_ADDRESS__)
constexpr size_t kBookkeeping = 400000;
#else
constexpr size_t kBookkeeping = 40000;
#endif

TEST_F(Memory, AThousandIdleGroupsOwnNone) {
  constexpr int kGroups = 1000;
  NodeLimits limits;
  limits.memory = 50 * bytes_of_a_group();
  limits.memory_reserved = kGroups * bytes_of_a_group();
  limits.idle_after = kShort;
  AggregationNode& node = street_.open(kNode, limits);
  size_t after_fifty = 0;
  {
    std::vector<Pair> groups;
    for (int number = 0; number < kGroups; ++number) {
      groups.push_back(form(number));
      Pair& pair = groups.back();
      post(pair);
      ASSERT_TRUE(finish(pair)) << number;
      for (auto& rank : pair) rank->operations.clear();
      // Fifty may be at work at a time: the rest has gone idle in turn.
      if (number % 50 == 49) let_idle();
      if (number == 49) after_fifty = resident_bytes();
    }
    let_idle();
    EXPECT_EQ(node.statistics().active_memory, 0u);
    EXPECT_EQ(node.statistics().reserved_memory, limits.memory_reserved);
    EXPECT_EQ(node.statistics().groups, static_cast<size_t>(kGroups));
    const size_t grown = resident_bytes() - std::min(after_fifty, resident_bytes());
    // Bookkeeping of the node and of the test's own 2000 peers, but no chunk: those would be
    // 1000 x 768 KiB.
    EXPECT_LT(grown, size_t{kGroups} * kBookkeeping) << bytes_of_a_group();
    // And any of them wakes up again.
    post(groups[17]);
    EXPECT_TRUE(finish(groups[17]));
    EXPECT_EQ(node.statistics().active_memory, bytes_of_a_group());
  }
}

TEST_F(Memory, ReservationsAreBounded) {
  NodeLimits limits;
  limits.memory = bytes_of_a_group();
  limits.memory_reserved = 2 * bytes_of_a_group();
  street_.open(kNode, limits);
  const Pair first = form(1);
  const Pair second = form(2);
  Join join;
  join.shape = shape_of(3);
  join.path = {{kNode, 2, 0}};
  join.ranks = {{0, 1}};
  WirePeer third(street_.connect(kNode), join);
  street_.step();
  third.drive();
  ASSERT_TRUE(third.refused);
  EXPECT_EQ(third.refused->code, RefusalCode::memory);
  EXPECT_THAT(third.refused->sentence, HasSubstr("MiB are reserved, most of it"));
}

// The second group's bytes stay with its ranks until the first is idle.
TEST_F(Memory, AGroupWaitsForItsTurn) {
  NodeLimits limits;
  limits.memory = bytes_of_a_group();
  limits.idle_after = kShort;
  AggregationNode& node = street_.open(kNode, limits);
  Pair first = form(1);
  Pair second = form(2);
  post(first, 1);  // half an operation: it keeps its memory
  for (int at = 0; at < 5; ++at) step(first);
  EXPECT_EQ(node.statistics().active_memory, bytes_of_a_group());
  post(second);
  for (int at = 0; at < 50; ++at) step(second);
  let_idle();
  EXPECT_FALSE(second[0]->operations.back().done());
  Call call;
  call.elements = first[0]->operations.back().call.elements;
  first[1]->post(call, testing::Bytes(call.bytes(), std::byte{1}));
  ASSERT_TRUE(finish(first));
  let_idle();
  EXPECT_TRUE(finish(second));
  EXPECT_EQ(node.statistics().active_memory, bytes_of_a_group());
}

TEST_F(Memory, ATurnThatNeverComesIsAnError) {
  NodeLimits limits;
  limits.memory = bytes_of_a_group();
  limits.memory_wait = kShort;
  street_.open(kNode, limits);
  Pair first = form(1);
  Pair second = form(2);
  post(first, 1);
  for (int at = 0; at < 5; ++at) step(first);
  post(second);
  for (int at = 0; at < 5; ++at) step(second);
  let_idle();
  for (int at = 0; at < 5; ++at) step(second);
  ASSERT_TRUE(second[0]->group_error && second[1]->group_error);
  EXPECT_THAT(
      second[0]->group_error->sentence,
      HasSubstr("node n:1 had no memory for the group for 0.03 s, most of it (0.8 MiB) by"));
  Call call;
  call.elements = first[0]->operations.back().call.elements;
  first[1]->post(call, testing::Bytes(call.bytes(), std::byte{1}));
  EXPECT_TRUE(finish(first)) << "the other group goes on";
}

}  // namespace
}  // namespace sluice::sharp
