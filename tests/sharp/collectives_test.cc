// SPDX-License-Identifier: Apache-2.0
// Allgather and reduce-scatter through real nodes: any window, several parts, in place, both
// classes, mixed with allreduces in flight, against a plain reference.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>

#include "sharp/client/cutting.h"
#include "tests/sharp/cluster.h"
#include "tests/sharp/topology.h"
#include "tests/sharp/vectors.h"

namespace sluice::sharp {
namespace {

using testing::Bytes;
using testing::Cluster;
using testing::NodeThread;
using testing::Rank;

constexpr std::byte kGuard{0x5a};
constexpr size_t kGuardBytes = 64;

// What all ranks know of a call.
struct Call {
  bool gather = true;
  DataType type = DataType::uint8;
  ReduceOperator reduce_operator = ReduceOperator::sum;
  BlockWindow window;
  bool in_place = false;
  uint32_t seed = 0;
  Bytes expected;  // the window of the gathered or reduced vector
};

Bytes slice(const Bytes& whole, uint64_t offset, uint64_t bytes) {
  const auto begin = whole.begin() + static_cast<std::ptrdiff_t>(offset);
  return {begin, begin + static_cast<std::ptrdiff_t>(bytes)};
}

Bytes block_of(const Call& call, int rank) {
  return testing::input_of(DataType::uint8, call.window.block, rank, call.seed);
}

void fill_expected(Call& call, int ranks) {
  const uint64_t whole = call.window.block * static_cast<uint64_t>(ranks);
  Bytes vector;
  if (call.gather) {
    for (int rank = 0; rank < ranks; ++rank) {
      const Bytes block = block_of(call, rank);
      vector.insert(vector.end(), block.begin(), block.end());
    }
  } else {
    vector = testing::expected_of(call.type, call.reduce_operator, whole / size_of(call.type),
                                  ranks, call.seed);
  }
  call.expected = slice(vector, call.window.offset, call.window.bytes);
}

// Memory in pieces that do not touch each other.
class Pieces {
 public:
  // `unit`: pieces are multiples of it.
  Pieces(uint64_t bytes, uint64_t count, uint64_t unit, std::mt19937& random) {
    for (uint64_t left = bytes; left > 0 || parts_.empty();) {
      const bool last = parts_.size() + 1 >= count;
      const uint64_t size = last ? left : random() % (left / unit + 1) * unit;
      buffers_.push_back(std::make_unique<Bytes>(size + kGuardBytes, kGuard));
      parts_.push_back({buffers_.back()->data(), size});
      left -= size;
    }
  }
  std::span<const Part> parts() const { return parts_; }
  std::byte* first() { return parts_.front().address; }
  void put(const Bytes& data) {
    const std::byte* from = data.data();
    for (const Part& part : parts_) {
      std::copy(from, from + part.size, part.address);
      from += part.size;
    }
  }
  Bytes get() const {
    Bytes data;
    for (const Part& part : parts_) data.insert(data.end(), part.address, part.address + part.size);
    return data;
  }
  bool guards_hold() const {
    return std::all_of(parts_.begin(), parts_.end(), [](const Part& part) {
      return std::all_of(part.address + part.size, part.address + part.size + kGuardBytes,
                         [](std::byte byte) { return byte == kGuard; });
    });
  }

 private:
  std::vector<std::unique_ptr<Bytes>> buffers_;
  std::vector<Part> parts_;
};

// One rank's side of a call.
class Taking {
 public:
  Taking(const Call& call, int rank, std::mt19937& random)
      : call_(call),
        own_(share_of(call.window, static_cast<uint64_t>(rank))),
        pieces_(call.window.bytes, call.in_place ? 1 : random() % 3 + 1, size_of(call.type),
                random) {
    if (call.gather) {
      const uint64_t begin =
          own_.offset + call.window.offset - static_cast<uint64_t>(rank) * call.window.block;
      alone_ = own_.bytes > 0 ? slice(block_of(call, rank), begin, own_.bytes) : Bytes();
      if (call.in_place) std::copy(alone_.begin(), alone_.end(), place());
    } else {
      const uint64_t whole = (call.window.offset + call.window.bytes + size_of(call.type));
      const Bytes input = testing::input_of(call.type, whole / size_of(call.type), rank, call.seed);
      pieces_.put(slice(input, call.window.offset, call.window.bytes));
      alone_.assign(own_.bytes + kGuardBytes, kGuard);
    }
  }

  Result<Operation*> post(Client& client) {
    if (call_.gather) {
      AllgatherArguments arguments;
      arguments.send = call_.in_place ? place() : alone_.data();
      arguments.bytes_per_rank = call_.window.block;
      arguments.window_offset = call_.window.offset;
      arguments.window_bytes = call_.window.bytes;
      arguments.receive = pieces_.parts();
      return client.allgather(arguments);
    }
    ReduceScatterArguments arguments;
    arguments.send = pieces_.parts();
    arguments.receive = call_.in_place ? place() : alone_.data();
    arguments.bytes_per_rank = call_.window.block;
    arguments.window_offset = call_.window.offset;
    arguments.window_bytes = call_.window.bytes;
    arguments.type = call_.type;
    arguments.reduce_operator = call_.reduce_operator;
    return client.reduce_scatter(arguments);
  }

  void check() const {
    ASSERT_TRUE(pieces_.guards_hold());
    if (call_.gather) {
      ASSERT_EQ(pieces_.get(), call_.expected);
      return;
    }
    const Bytes expected = slice(call_.expected, own_.offset, own_.bytes);
    const Bytes result = call_.in_place ? slice(pieces_.get(), own_.offset, own_.bytes)
                                        : slice(alone_, 0, own_.bytes);
    ASSERT_EQ(result, expected);
    if (call_.in_place) return;
    ASSERT_TRUE(std::all_of(alone_.end() - kGuardBytes, alone_.end(),
                            [](std::byte byte) { return byte == kGuard; }));
  }

 private:
  std::byte* place() { return pieces_.first() + own_.offset; }

  const Call& call_;
  const WindowRange own_;
  Pieces pieces_;
  Bytes alone_;  // the block's bytes to send, or the place of those to receive
};

std::vector<Call> random_calls(int ranks, size_t count, uint64_t largest_block) {
  std::mt19937 random(23);
  std::vector<Call> calls(count);
  for (Call& call : calls) {
    call.gather = random() % 2 == 0;
    call.in_place = random() % 2 == 0;
    call.seed = random() % 1000;
    if (!call.gather) {
      call.type = testing::kAllTypes[random() % std::size(testing::kAllTypes)];
      call.reduce_operator = testing::kAllOperators[random() % 4];
    }
    const uint64_t unit = size_of(call.type);
    const uint64_t most = random() % 3 == 0 ? 40 : largest_block / unit;
    call.window.block = random() % most * unit;
    const uint64_t whole = call.window.block * static_cast<uint64_t>(ranks);
    call.window.bytes = whole;
    if (random() % 4 != 0) {
      call.window.offset = random() % (whole / unit + 1) * unit;
      call.window.bytes = random() % ((whole - call.window.offset) / unit + 1) * unit;
    }
    fill_expected(call, ranks);
  }
  return calls;
}

// All calls, several in flight, each rank at its own pace.
void run(Rank& rank, const std::vector<Call>& calls) {
  ASSERT_TRUE(rank.client) << rank.client.error().message;
  Client& client = **rank.client;
  std::mt19937 random(static_cast<uint32_t>(rank.rank) + 1);
  std::vector<std::pair<size_t, Operation*>> flying;
  std::vector<std::unique_ptr<Taking>> takings;
  const Deadline deadline = Deadline::after(std::chrono::seconds(100));
  while (takings.size() < calls.size() || !flying.empty()) {
    ASSERT_FALSE(deadline.passed()) << "rank " << rank.rank << " is stuck";
    if (takings.size() < calls.size() && flying.size() < 12) {
      takings.push_back(std::make_unique<Taking>(calls[takings.size()], rank.rank, random));
      const auto operation = takings.back()->post(client);
      ASSERT_TRUE(operation) << operation.error().message;
      ASSERT_NE(*operation, nullptr);
      flying.emplace_back(takings.size() - 1, *operation);
    }
    const size_t at = random() % flying.size();
    size_t bytes = 0;
    const auto done = client.test(*flying[at].second, &bytes);
    ASSERT_TRUE(done) << done.error().message;
    if (!*done) {
      std::this_thread::yield();
      continue;
    }
    SCOPED_TRACE(format_text("call %zu of rank %d", flying[at].first, rank.rank));
    ASSERT_NO_FATAL_FAILURE(takings[flying[at].first]->check());
    flying.erase(flying.begin() + static_cast<std::ptrdiff_t>(at));
  }
}

class Collectives : public ::testing::TestWithParam<int> {
 protected:
  static ClientSettings settings_for(const testing::Topology& topology) {
    ClientSettings settings;
    settings.trees = topology.trees();
    settings.chunk_bytes = 4096;
    settings.window = 4;
    return settings;
  }
};

TEST_P(Collectives, AnyWindowAnyPartsInPlace) {
  testing::Topology topology("n");
  Cluster cluster(GetParam());
  cluster.connect(settings_for(topology));
  const auto calls = random_calls(GetParam(), 70, 20000);
  cluster.each([&](Rank& rank) { run(rank, calls); });
}

TEST_P(Collectives, WithoutALatencyClass) {
  testing::Topology topology("n");
  Cluster cluster(GetParam());
  ClientSettings without = settings_for(topology);
  without.latency_threshold = 0;
  cluster.connect(without);
  const auto calls = random_calls(GetParam(), 30, 9000);
  cluster.each([&](Rank& rank) { run(rank, calls); });
}

TEST_P(Collectives, OverATree) {
  testing::Topology topology("r(m(a,b),n(c))");
  Cluster cluster(GetParam());
  cluster.connect(settings_for(topology));
  // Integers: their sums do not ask where the brackets are.
  auto calls = random_calls(GetParam(), 60, 12000);
  std::erase_if(calls, [](const Call& call) { return testing::is_float(call.type); });
  cluster.each([&](Rank& rank) { run(rank, calls); });
}

INSTANTIATE_TEST_SUITE_P(Ranks, Collectives, ::testing::Values(1, 2, 3, 5, 8),
                         ::testing::PrintToStringParamName());

TEST(CollectiveArguments, WhatCannotBeIsRefusedAndTheClientLives) {
  NodeThread node;
  Cluster cluster(1);
  ClientSettings settings;
  settings.trees = {node.address()};
  cluster.connect(settings);
  ASSERT_TRUE(cluster[0].client) << cluster[0].client.error().message;
  Client& client = **cluster[0].client;
  std::byte memory[64] = {};
  const Part part{memory, 64};
  AllgatherArguments gather;
  gather.send = memory;
  gather.bytes_per_rank = 64;
  gather.window_bytes = 65;
  gather.receive = {&part, 1};
  EXPECT_FALSE(client.allgather(gather));
  gather.window_bytes = 63;
  EXPECT_FALSE(client.allgather(gather)) << "the part is longer";
  gather.window_bytes = 64;
  gather.send = nullptr;
  EXPECT_FALSE(client.allgather(gather));
  gather.bytes_per_rank = SIZE_MAX;
  gather.window_offset = SIZE_MAX;
  EXPECT_FALSE(client.allgather(gather));
  ReduceScatterArguments scatter;
  scatter.send = {&part, 1};
  scatter.receive = memory;
  scatter.bytes_per_rank = 64;
  scatter.window_bytes = 62;
  scatter.type = DataType::float32;
  EXPECT_FALSE(client.reduce_scatter(scatter));
  const std::vector<Call> calls = random_calls(1, 3, 3000);
  run(cluster[0], calls);
}

}  // namespace
}  // namespace sluice::sharp
