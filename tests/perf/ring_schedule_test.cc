// SPDX-License-Identifier: Apache-2.0
// The ring's steps, played for all ranks at once with queues in the place of a plugin.
#include "perf/driver/ring_schedule.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace sluice::perf {
namespace {

using Values = std::vector<long>;

// All ranks' steps, inputs and outputs, and the messages on their way to each rank.
class Game {
 public:
  Game(Collective collective, int ranks, size_t count)
      : players_(static_cast<size_t>(ranks)), collective_(collective), count_(count) {
    for (int rank = 0; rank < ranks; ++rank) {
      Player& player = players_[static_cast<size_t>(rank)];
      player.steps = ring_steps({collective, ranks, rank, count, kMostSlice, 4, 4});
      player.output.assign(count, -1);
      for (size_t index = 0; index < count; ++index) {
        player.input.push_back((rank + 1) * 1000 + static_cast<long>(index) * 7);
      }
    }
  }

  void play() {
    for (bool moved = true; moved;) {
      moved = false;
      for (size_t rank = 0; rank < players_.size(); ++rank) moved = advance(rank) || moved;
    }
  }

  void expect_results() const {
    for (size_t rank = 0; rank < players_.size(); ++rank) {
      const Player& player = players_[rank];
      ASSERT_EQ(player.next, player.steps.size()) << "a rank waits for ever";
      EXPECT_TRUE(player.arriving.empty());
      for (size_t index = 0; index < count_; ++index) {
        ASSERT_EQ(player.output[index], expected(rank, index)) << "element " << index;
      }
    }
  }

  void expect_bytes() const {
    size_t sent = 0;
    for (const Player& player : players_) {
      for (const RingStep& step : player.steps) {
        sent += step.sends ? step.count : 0;
        EXPECT_LE(step.count, kMostSlice);
        EXPECT_GT(step.count, 0u);
      }
    }
    const size_t passes = collective_ == Collective::allreduce ? 2 : 1;
    EXPECT_EQ(sent, passes * (players_.size() - 1) * count_);
  }

 private:
  static constexpr size_t kMostSlice = 16;
  struct Player {
    std::vector<RingStep> steps;
    Values input;
    Values output;
    size_t next = 0;
    std::deque<Values> arriving;
  };

  // One step of one rank, if it can be taken.
  bool advance(size_t rank) {
    Player& player = players_[rank];
    if (player.next == player.steps.size()) return false;
    const RingStep& step = player.steps[player.next];
    if (step.receives && player.arriving.empty()) return false;
    const auto first = static_cast<long>(step.first);
    const auto input = player.input.begin() + first;
    Values outcome(input, input + static_cast<long>(step.count));
    if (step.receives) {
      const Values received = std::move(player.arriving.front());
      player.arriving.pop_front();
      EXPECT_EQ(received.size(), step.count) << "sender and receiver cut differently";
      for (size_t index = 0; index < received.size() && index < step.count; ++index) {
        outcome[index] = received[index] + (step.reduces ? outcome[index] : 0);
      }
    }
    if (step.stores) std::copy(outcome.begin(), outcome.end(), player.output.begin() + first);
    if (step.sends) players_[(rank + 1) % players_.size()].arriving.push_back(std::move(outcome));
    ++player.next;
    return true;
  }

  // -1: stays as it was. An allgather's input is the vector in which only the own block counts.
  long expected(size_t rank, size_t index) const {
    const auto n = static_cast<long>(players_.size());
    const size_t owner = index / std::max<size_t>(count_ / players_.size(), 1);
    if (collective_ == Collective::allgather) {
      return (static_cast<long>(owner) + 1) * 1000 + static_cast<long>(index) * 7;
    }
    if (collective_ == Collective::reduce_scatter && owner != rank) return -1;
    return n * (n + 1) / 2 * 1000 + n * static_cast<long>(index) * 7;
  }

  std::vector<Player> players_;
  Collective collective_;
  size_t count_;
};

struct Played {
  Collective collective;
  int ranks;
};

class RingSteps : public testing::TestWithParam<Played> {
 protected:
  // Blocks are equal where there are blocks.
  static void for_each_count(const std::function<void(size_t)>& body) {
    const auto [collective, ranks] = GetParam();
    const size_t unit = collective == Collective::allreduce ? 1 : static_cast<size_t>(ranks);
    for (const size_t count : {0, 1, 2, 7, 64, 129, 1000, 5003}) {
      SCOPED_TRACE(count);
      body(count * unit);
    }
  }
};

TEST_P(RingSteps, LeaveTheResultOnEveryRank) {
  for_each_count([](size_t count) {
    Game game(GetParam().collective, GetParam().ranks, count);
    game.play();
    game.expect_results();
  });
}

TEST_P(RingSteps, SendWhatARingMustSend) {
  for_each_count(
      [](size_t count) { Game(GetParam().collective, GetParam().ranks, count).expect_bytes(); });
}

std::vector<Played> all_played() {
  std::vector<Played> all;
  for (const Collective collective :
       {Collective::allreduce, Collective::allgather, Collective::reduce_scatter}) {
    for (const int ranks : {2, 3, 5, 8, 24}) all.push_back({collective, ranks});
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(All, RingSteps, testing::ValuesIn(all_played()), [](const auto& tested) {
  return name_of(tested.param.collective) + std::to_string(tested.param.ranks);
});

}  // namespace
}  // namespace sluice::perf
