// SPDX-License-Identifier: Apache-2.0
// The three collectives through the stand-in, by processes: right results, windows, parts, in
// place.
#include <gtest/gtest.h>

#include <array>
#include <cstring>

#include "tests/libsharp/team.h"
#include "tests/sharp/vectors.h"

namespace sluice::sharp::libsharp {
namespace {

using sharp::testing::Bytes;
using sharp::testing::expected_of;
using sharp::testing::input_of;
using sharp::testing::kAllTypes;
using sharp::testing::Share;
using testing::Member;
using testing::stand_in_settings;
using testing::Team;
using testing::wait_for;

constexpr std::array kOperators = {ReduceOperator::sum, ReduceOperator::max, ReduceOperator::min};

void with_client(Member& me, const std::function<void(LibsharpClient&)>& body) {
  auto client = me.connect(stand_in_settings());
  ASSERT_TRUE(client) << client.error().message;
  EXPECT_NE((*client)->description().find(format_text("on: %d ranks, SHARP by ", me.ranks)),
            std::string::npos);
  body(**client);
  // A rank that goes takes its part of the stand-in's switch with it.
  me.meet();
}

std::unique_ptr<transport::MemoryRegion> registered(Client& client, Bytes& bytes) {
  if (bytes.empty()) return nullptr;
  auto region = client.register_memory(bytes.data(), bytes.size(), transport::MemoryType::host);
  EXPECT_TRUE(region) << region.error().message;
  return region ? *std::move(region) : nullptr;
}

class Collectives : public ::testing::TestWithParam<int> {
 protected:
  Team team{GetParam()};
};

TEST_P(Collectives, AllreduceOfEveryTypeAndOperator) {
  team.run([](Member& me) {
    with_client(me, [&](LibsharpClient& client) {
      uint32_t seed = 1;
      for (const DataType type : kAllTypes) {
        for (const ReduceOperator reduce_operator : kOperators) {
          ASSERT_TRUE(client.capabilities().supports(type, reduce_operator));
          const size_t count = seed % 3 == 0 ? 1 : 40 * seed + 3;
          Share share(type, reduce_operator, count, me.rank, seed, seed % 2 == 0);
          const auto send = registered(client, share.send);
          const auto receive = registered(client, share.receive);
          auto arguments = share.arguments();
          arguments.send_region = send.get();
          arguments.receive_region = share.in_place ? send.get() : receive.get();
          const auto operation = client.allreduce(arguments);
          ASSERT_TRUE(operation) << operation.error().message;
          const Status status = wait_for(client, **operation);
          ASSERT_TRUE(status) << status.error().message;
          EXPECT_EQ(share.result(), expected_of(type, reduce_operator, count, me.ranks, seed))
              << name_of(type) << " " << name_of(reduce_operator);
          ++seed;
        }
      }
    });
  });
}

TEST_P(Collectives, ManyInFlight) {
  team.run([](Member& me) {
    with_client(me, [&](LibsharpClient& client) {
      constexpr int kOperations = 64;
      std::vector<std::unique_ptr<Share>> shares;
      std::vector<Operation*> operations;
      for (uint32_t at = 0; at < kOperations; ++at) {
        shares.push_back(std::make_unique<Share>(DataType::int64, ReduceOperator::sum,
                                                 100 + at * 50, me.rank, at));
        const auto operation = client.allreduce(shares.back()->arguments());
        ASSERT_TRUE(operation && *operation != nullptr);
        operations.push_back(*operation);
      }
      for (uint32_t at = kOperations; at-- > 0;) {
        const Status status = wait_for(client, *operations[at]);
        ASSERT_TRUE(status) << status.error().message;
        EXPECT_EQ(shares[at]->result(),
                  expected_of(DataType::int64, ReduceOperator::sum, 100 + at * 50, me.ranks, at));
      }
    });
  });
}

TEST_P(Collectives, PoolEndsWithNullAndNothingIsLost) {
  team.run([](Member& me) {
    with_client(me, [&](LibsharpClient& client) {
      std::vector<int32_t> values(1024, 1);
      AllreduceArguments arguments;
      arguments.count = 1;
      arguments.type = DataType::int32;
      std::vector<Operation*> operations;
      for (size_t at = 0; at < values.size(); ++at) {
        arguments.send = arguments.receive = &values[at];
        const auto operation = client.allreduce(arguments);
        ASSERT_TRUE(operation) << operation.error().message;
        if (*operation == nullptr) break;
        operations.push_back(*operation);
      }
      ASSERT_LT(operations.size(), values.size());
      for (size_t at = 0; at < operations.size(); ++at) {
        ASSERT_TRUE(wait_for(client, *operations[at]));
        EXPECT_EQ(values[at], me.ranks);
      }
    });
  });
}

struct Window {
  size_t block;   // elements of a rank
  size_t offset;  // and of the window, in all of them
  size_t size;
  bool in_place;
  size_t parts;
};

std::vector<Window> windows_of(int ranks) {
  const auto n = static_cast<size_t>(ranks);
  return {{100, 0, 100 * n, false, 1}, {100, 0, 100 * n, true, 1},
          {64, 10, 20, false, 1},      {64, 60, 64 * (n - 1), false, 1},
          {64, 64, 64, true, 1},       {1, n - 1, 1, false, 1},
          {1000, 30, 500, false, 3},   {1000, 500, 1000, true, 2},
          {64, 3, 0, false, 1},        {0, 0, 0, false, 0}};
}

// `bytes` in so many parts of different sizes.
std::vector<Part> parts_of(Bytes& bytes, size_t count, const transport::MemoryRegion* region) {
  std::vector<Part> parts;
  size_t at = 0;
  for (size_t part = 0; part < count; ++part) {
    const size_t size = part + 1 == count ? bytes.size() - at : bytes.size() / (count + 1) / 4 * 4;
    parts.push_back({bytes.data() + at, size, region});
    at += size;
  }
  return parts;
}

// The part of the rank's block that is in the window, as a reference: element by element.
std::vector<size_t> own_elements(const Window& window, int rank) {
  std::vector<size_t> elements;
  for (size_t at = window.offset; at < window.offset + window.size; ++at) {
    if (at / window.block == static_cast<size_t>(rank)) elements.push_back(at);
  }
  return elements;
}

constexpr size_t kElement = sizeof(int32_t);

void allgather(LibsharpClient& client, Member& me, const Window& window, uint32_t seed) {
  Bytes all;
  for (int rank = 0; rank < me.ranks; ++rank) {
    const Bytes block = input_of(DataType::int32, window.block, rank, seed);
    all.insert(all.end(), block.begin(), block.end());
  }
  const auto own = own_elements(window, me.rank);
  Bytes result(window.size * kElement);
  const size_t place = own.empty() ? 0 : (own.front() - window.offset) * kElement;
  Bytes send;
  if (!own.empty()) {
    const auto* first = all.data() + own.front() * kElement;
    send.assign(first, first + own.size() * kElement);
  }
  if (window.in_place && !send.empty()) {
    std::memcpy(result.data() + place, send.data(), send.size());
  }
  const auto send_region = registered(client, send);
  const auto region = registered(client, result);
  const auto parts = parts_of(result, window.parts, region.get());
  AllgatherArguments arguments;
  arguments.send = window.in_place ? result.data() + place : send.data();
  arguments.send_region = window.in_place ? region.get() : send_region.get();
  arguments.bytes_per_rank = window.block * kElement;
  arguments.window_offset = window.offset * kElement;
  arguments.window_bytes = window.size * kElement;
  arguments.receive = parts;
  const auto operation = client.allgather(arguments);
  ASSERT_TRUE(operation) << operation.error().message;
  size_t bytes = 1;
  const Deadline deadline = Deadline::after(std::chrono::seconds(60));
  for (bool done = false; !done && !deadline.passed();) {
    const auto tested = client.test(**operation, &bytes);
    ASSERT_TRUE(tested) << tested.error().message;
    done = *tested;
  }
  EXPECT_EQ(bytes, result.size());
  const auto* expected = all.data() + window.offset * kElement;
  EXPECT_EQ(result, Bytes(expected, expected + result.size()));
}

TEST_P(Collectives, AllgatherOfWindows) {
  team.run([](Member& me) {
    with_client(me, [&](LibsharpClient& client) {
      uint32_t seed = 7;
      for (const Window& window : windows_of(me.ranks)) allgather(client, me, window, seed++);
    });
  });
}

void reduce_scatter(LibsharpClient& client, Member& me, const Window& window, uint32_t seed) {
  const size_t total = window.block * static_cast<size_t>(me.ranks);
  const Bytes vector = input_of(DataType::int32, total, me.rank, seed);
  const Bytes sums = expected_of(DataType::int32, ReduceOperator::sum, total, me.ranks, seed);
  const auto* first = vector.data() + window.offset * kElement;
  Bytes send(first, first + window.size * kElement);
  const auto own = own_elements(window, me.rank);
  Bytes receive(own.size() * kElement);
  const size_t place = own.empty() ? 0 : (own.front() - window.offset) * kElement;
  const auto send_region = registered(client, send);
  const auto receive_region = registered(client, receive);
  const auto parts = parts_of(send, window.parts, send_region.get());
  ReduceScatterArguments arguments;
  arguments.send = parts;
  arguments.receive = window.in_place ? send.data() + place : receive.data();
  arguments.receive_region = window.in_place ? send_region.get() : receive_region.get();
  arguments.bytes_per_rank = window.block * kElement;
  arguments.window_offset = window.offset * kElement;
  arguments.window_bytes = window.size * kElement;
  arguments.type = DataType::int32;
  const auto operation = client.reduce_scatter(arguments);
  ASSERT_TRUE(operation) << operation.error().message;
  const Status status = wait_for(client, **operation);
  ASSERT_TRUE(status) << status.error().message;
  if (own.empty()) return;
  const auto* expected = sums.data() + own.front() * kElement;
  EXPECT_EQ(std::memcmp(arguments.receive, expected, own.size() * kElement), 0)
      << "window " << window.size << " at " << window.offset;
}

TEST_P(Collectives, ReduceScatterOfWindows) {
  team.run([](Member& me) {
    with_client(me, [&](LibsharpClient& client) {
      uint32_t seed = 70;
      for (const Window& window : windows_of(me.ranks)) reduce_scatter(client, me, window, seed++);
    });
  });
}

INSTANTIATE_TEST_SUITE_P(Ranks, Collectives, ::testing::Values(2, 3, 4, 5),
                         ::testing::PrintToStringParamName());

}  // namespace
}  // namespace sluice::sharp::libsharp
