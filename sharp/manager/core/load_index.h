// SPDX-License-Identifier: Apache-2.0
// Finds the least loaded node of a site that has room for a group, without looking at all of them.
//
// A tournament tree: each inner entry holds the least load and the most room below it, so a search
// skips whatever cannot do, and "all full" is seen at the top. Changing one node costs the height.
// Room is kept twice: with and without what is reserved for tenants. Among equals the first wins,
// so the answer is a function of the state alone. Thread rule: one thread at a time.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "sharp/manager/core/amounts.h"

namespace sluice::manager {

struct NodeRoom {
  static constexpr uint32_t kClosed = UINT32_MAX;  // takes nothing
  static constexpr uint32_t kFull = 4096;
  uint32_t load = kClosed;  // of the fullest resource; 0 only if nothing is held
  Amounts unreserved;       // room for a tenant without reservations
  Amounts total;            // room if no reservation is minded
};

class LoadIndex {
 public:
  static constexpr size_t kNone = SIZE_MAX;

  void resize(size_t places) {
    places_ = std::bit_ceil(std::max<size_t>(places, 1));
    entries_.assign(2 * places_, NodeRoom{});
  }
  const NodeRoom& at(size_t place) const { return entries_[places_ + place]; }
  void set(size_t place, const NodeRoom& room);

  // The least load and the most room over all places: a hint, nobody need have both.
  const NodeRoom& top() const { return entries_[1]; }
  // The place of least load, `most_load` at most, that has room for `wanted` and that
  // `accept(place)` takes.
  template <typename Accept>
  size_t find(const Amounts& wanted, bool mind_reservations, uint32_t most_load,
              const Accept& accept) const {
    size_t best = kNone;
    uint32_t best_load = most_load;
    search(1, wanted, mind_reservations, accept, best, best_load);
    return best;
  }

 private:
  template <typename Accept>
  void search(size_t entry, const Amounts& wanted, bool mind_reservations, const Accept& accept,
              size_t& best, uint32_t& best_load) const;

  size_t places_ = 1;
  std::vector<NodeRoom> entries_{2};  // 1: the top; below i: 2i, 2i + 1; leaves from places_
};

inline void LoadIndex::set(size_t place, const NodeRoom& room) {
  size_t entry = places_ + place;
  entries_[entry] = room;
  for (entry /= 2; entry != 0; entry /= 2) {
    const NodeRoom& left = entries_[2 * entry];
    const NodeRoom& right = entries_[2 * entry + 1];
    const auto most = [](const Amounts& a, const Amounts& b) {
      return Amounts{std::max(a.groups, b.groups), std::max(a.memory, b.memory),
                     std::max(a.bandwidth, b.bandwidth)};
    };
    entries_[entry] = {std::min(left.load, right.load), most(left.unreserved, right.unreserved),
                       most(left.total, right.total)};
  }
}

template <typename Accept>
void LoadIndex::search(size_t entry, const Amounts& wanted, bool mind_reservations,
                       const Accept& accept, size_t& best, uint32_t& best_load) const {
  const NodeRoom& room = entries_[entry];
  if (room.load > best_load || room.load == NodeRoom::kClosed) return;
  if (best != kNone && room.load == best_load) return;
  if (!wanted.fits_into(mind_reservations ? room.unreserved : room.total)) return;
  if (entry < places_) {
    const size_t nearer = entries_[2 * entry].load <= entries_[2 * entry + 1].load ? 0 : 1;
    search(2 * entry + nearer, wanted, mind_reservations, accept, best, best_load);
    search(2 * entry + 1 - nearer, wanted, mind_reservations, accept, best, best_load);
    return;
  }
  const size_t place = entry - places_;
  if (!accept(place)) return;
  best = place;
  best_load = room.load;
}

}  // namespace sluice::manager
