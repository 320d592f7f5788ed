// SPDX-License-Identifier: Apache-2.0
// The index against a plain search, for every number of places up to 20.
#include "sharp/manager/core/load_index.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace sluice::manager {
namespace {

TEST(LoadIndex, FindsWhatASearchOverAllFinds) {
  std::mt19937 random(3);
  for (size_t places = 1; places <= 20; ++places) {
    LoadIndex index;
    index.resize(places);
    std::vector<NodeRoom> rooms(places);
    for (int step = 0; step < 300; ++step) {
      NodeRoom room;
      room.load = random() % 5 == 0 ? NodeRoom::kClosed : random() % 6;
      room.unreserved = {static_cast<uint32_t>(random() % 3), random() % 4, random() % 4};
      room.total = room.unreserved +
                   Amounts{static_cast<uint32_t>(random() % 2), random() % 2, random() % 2};
      const size_t changed = random() % places;
      rooms[changed] = room;
      index.set(changed, room);
      const Amounts wanted{1, random() % 5, random() % 4};
      const bool mind = random() % 2 == 0;
      const size_t banned = random() % places;
      const auto fits = [&](size_t place) {
        return place != banned && rooms[place].load != NodeRoom::kClosed &&
               wanted.fits_into(mind ? rooms[place].unreserved : rooms[place].total);
      };
      uint32_t least = NodeRoom::kClosed;
      for (size_t place = 0; place < places; ++place) {
        if (fits(place)) least = std::min(least, rooms[place].load);
      }
      const size_t found =
          index.find(wanted, mind, NodeRoom::kFull, [&](size_t place) { return place != banned; });
      if (least == NodeRoom::kClosed) {
        EXPECT_EQ(found, LoadIndex::kNone);
      } else {
        ASSERT_NE(found, LoadIndex::kNone);
        EXPECT_TRUE(fits(found));
        EXPECT_EQ(rooms[found].load, least);
      }
    }
  }
}

TEST(LoadIndex, ALimitOnTheLoadLeavesBusyPlacesOut) {
  LoadIndex index;
  index.resize(2);
  const Amounts room{1, 1, 1};
  index.set(0, {3, room, room});
  index.set(1, {2, room, room});
  const auto any = [](size_t) { return true; };
  EXPECT_EQ(index.find(room, true, 2, any), 1u);
  EXPECT_EQ(index.find(room, true, 1, any), LoadIndex::kNone);
}

TEST(LoadIndex, WithoutPlacesNothingIsFound) {
  LoadIndex index;
  index.resize(0);
  EXPECT_EQ(index.find({}, true, NodeRoom::kFull, [](size_t) { return true; }), LoadIndex::kNone);
}

}  // namespace
}  // namespace sluice::manager
