// SPDX-License-Identifier: Apache-2.0
// The index of groups against a map, with many insertions, removals and collisions.
#include "sharp/manager/core/group_index.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <vector>

namespace sluice::manager {
namespace {

TEST(GroupIndex, AgreesWithAMap) {
  std::mt19937_64 random(5);
  std::vector<sharp::GroupId> groups(3000);
  for (uint32_t slot = 0; slot < groups.size(); ++slot) {
    std::memcpy(groups[slot].data(), &slot, sizeof(slot));  // alike, as no random ids are
  }
  const auto group_of = [&](uint32_t slot) -> const sharp::GroupId& { return groups[slot]; };
  GroupIndex index(sharp::GroupId{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16});
  std::map<uint32_t, bool> there;
  for (int step = 0; step < 60000; ++step) {
    // First it grows, then it shrinks.
    const auto slot = static_cast<uint32_t>(random() % groups.size());
    const bool insert = random() % 10 < (step < 30000 ? 7u : 3u);
    EXPECT_EQ(index.find(groups[slot], group_of), there[slot] ? slot : GroupIndex::kNone);
    if (insert && !there[slot]) index.insert(groups[slot], slot);
    if (!insert && there[slot]) index.erase(groups[slot], slot);
    there[slot] = insert;
  }
  size_t size = 0;
  for (uint32_t slot = 0; slot < groups.size(); ++slot) {
    EXPECT_EQ(index.find(groups[slot], group_of), there[slot] ? slot : GroupIndex::kNone);
    size += there[slot];
  }
  EXPECT_EQ(index.size(), size);
}

}  // namespace
}  // namespace sluice::manager
