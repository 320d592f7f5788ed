// SPDX-License-Identifier: Apache-2.0
// iallgather and ireducescatter through the exported CollNet tables, with a real aggregation node:
// windows, parts, handles and refusals as NCCL may ask for them. v6 and v7 have neither.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <numeric>
#include <vector>

#include "tests/plugin/collnet_fixture.h"
#include "tests/plugin/node_program.h"

namespace sluice::test {
namespace {

constexpr int kRanks = 3;
const std::vector<ncclResult_t> kAllFine(kRanks, ncclSuccess);

class CollNetWindows : public CollNet {
 protected:
  void SetUp() override {
    CollNet::SetUp();
    setenv("SLUICE_AGG", node_.address().c_str(), 1);
  }

 private:
  NodeProgram node_;
};

// What of a rank's block lies in the window: where it begins in the block, and how long it is.
struct Overlap {
  size_t begin = 0;
  size_t size = 0;
};
Overlap overlap(const TableWindow& window, int rank) {
  const size_t block = static_cast<size_t>(rank) * window.bytes_per_rank;
  const size_t begin = std::max(block, window.offset);
  const size_t end = std::min(block + window.bytes_per_rank, window.offset + window.bytes);
  return begin < end ? Overlap{begin - block, end - begin} : Overlap{};
}

uint8_t byte_at(size_t place) {
  return static_cast<uint8_t>(place * 7 + place / 251);
}

// The parts of `memory`, cut where `cuts` say (shares of the whole in percent).
std::vector<TablePart> parts_of(std::vector<uint8_t>& memory, const std::vector<size_t>& cuts,
                                size_t unit, void* handle = nullptr) {
  std::vector<TablePart> parts;
  size_t begin = 0;
  for (const size_t cut : cuts) {
    const size_t end = memory.size() * cut / 100 / unit * unit;
    parts.push_back({handle, memory.data() + begin, end - begin});
    begin = end;
  }
  parts.push_back({handle, memory.data() + begin, memory.size() - begin});
  return parts;
}

void expect_gathered(Rank& rank, int index, const TableWindow& window,
                     const std::vector<size_t>& cuts) {
  SCOPED_TRACE(testing::Message() << "rank " << index << ", window " << window.bytes << " at "
                                  << window.offset << " of " << window.bytes_per_rank);
  const Overlap own = overlap(window, index);
  std::vector<uint8_t> send(own.size);
  for (size_t at = 0; at < own.size; ++at) {
    send[at] = byte_at(static_cast<size_t>(index) * window.bytes_per_rank + own.begin + at);
  }
  std::vector<uint8_t> receive(window.bytes, 0xa5);
  void* request = poison();
  ASSERT_EQ(rank.table().allgather(rank.comm(), send.data(), parts_of(receive, cuts, 1), window,
                                   nullptr, &request),
            ncclSuccess);
  ASSERT_NE(request, nullptr);
  ASSERT_EQ(rank.finish(request), ncclSuccess) << logged_lines();
  for (size_t at = 0; at < window.bytes; ++at) {
    ASSERT_EQ(receive[at], byte_at(window.offset + at)) << "byte " << at;
  }
}

void expect_scattered(Rank& rank, int index, const TableWindow& window,
                      const std::vector<size_t>& cuts) {
  SCOPED_TRACE(testing::Message() << "rank " << index << ", window " << window.bytes << " at "
                                  << window.offset << " of " << window.bytes_per_rank);
  constexpr size_t kUnit = sizeof(int32_t);
  const Overlap own = overlap(window, index);
  std::vector<uint8_t> send(window.bytes);
  auto* elements = reinterpret_cast<int32_t*>(send.data());
  const size_t first = window.offset / kUnit;
  for (size_t at = 0; at < window.bytes / kUnit; ++at) {
    elements[at] = static_cast<int32_t>(first + at) * (index + 1);
  }
  std::vector<int32_t> receive(own.size / kUnit + 1, -7);
  void* request = poison();
  ASSERT_EQ(rank.table().reduce_scatter(rank.comm(), parts_of(send, cuts, kUnit), receive.data(),
                                        window, ncclInt32, ncclSum, nullptr, &request),
            ncclSuccess);
  ASSERT_NE(request, nullptr);
  ASSERT_EQ(rank.finish(request), ncclSuccess) << logged_lines();
  const size_t start = (static_cast<size_t>(index) * window.bytes_per_rank + own.begin) / kUnit;
  for (size_t at = 0; at < own.size / kUnit; ++at) {
    ASSERT_EQ(receive[at], static_cast<int32_t>(start + at) * 6) << "element " << at;
  }
  EXPECT_EQ(receive.back(), -7) << "written behind the rank's part";
}

// Whole vectors, small and large; windows that begin or end within a block, that miss a rank's
// block, that hold one rank's only.
const std::vector<TableWindow> kWindows = {
    {4, 0, 12},           {400, 0, 1200},         {100000, 0, 300000},     {400000, 0, 1200000},
    {100000, 4, 299992},  {100000, 99996, 8},     {100000, 100000, 99000}, {200000, 0, 200000},
    {200000, 399996, 16}, {1000, 1000, 2000},     {1000, 2996, 4},         {1000, 0, 4},
    {300000, 8, 299992},  {300000, 599996, 4004}, {1000, 500, 0}};
const std::vector<std::vector<size_t>> kCuts = {{}, {50}, {10, 10, 90}};

TEST_P(CollNetWindows, ThreeRanksGather) {
  const auto results = run(kRanks, 21, [](Rank& rank, int index) {
    for (const TableWindow& window : kWindows) {
      for (const auto& cuts : kCuts) expect_gathered(rank, index, window, cuts);
    }
    for (const size_t bytes : {size_t{1}, size_t{13}, size_t{77777}}) {
      expect_gathered(rank, index, {bytes, 0, 3 * bytes}, {30});
    }
  });
  EXPECT_EQ(results, kAllFine) << logged_lines();
}

TEST_P(CollNetWindows, ThreeRanksReduceAndScatter) {
  const auto results = run(kRanks, 22, [](Rank& rank, int index) {
    for (const TableWindow& window : kWindows) {
      for (const auto& cuts : kCuts) expect_scattered(rank, index, window, cuts);
    }
  });
  EXPECT_EQ(results, kAllFine) << logged_lines();
}

// All three collectives under way at once, registered, the rank's own block in place.
TEST_P(CollNetWindows, RegisteredInPlaceAndMixed) {
  const auto results = run(kRanks, 23, [](Rank& rank, int index) {
    constexpr size_t kBlock = 30000;
    constexpr size_t kElements = kRanks * kBlock;
    const auto own = static_cast<size_t>(index) * kBlock;
    std::vector<int32_t> gathered(kElements, -1), scattered(kElements), summed(50, index);
    std::fill_n(gathered.begin() + static_cast<long>(own), kBlock, index);
    std::iota(scattered.begin(), scattered.end(), 0);
    const auto handle_of = [&](std::vector<int32_t>& memory) {
      void* handle = poison();
      EXPECT_EQ(rank.table().register_memory(rank.comm(), memory.data(), memory.size() * 4,
                                             abi::kPointerHost, &handle),
                ncclSuccess);
      return handle;
    };
    void* const gather_handle = handle_of(gathered);
    void* const scatter_handle = handle_of(scattered);
    const TableWindow window{kBlock * 4, 0, kElements * 4};
    std::vector<void*> requests(3, poison());
    ASSERT_EQ(rank.table().allgather(rank.comm(), gathered.data() + own,
                                     {{gather_handle, gathered.data(), kElements * 4}}, window,
                                     gather_handle, &requests[0]),
              ncclSuccess);
    ASSERT_EQ(rank.table().allreduce(rank.comm(), summed.data(), summed.data(), summed.size(),
                                     ncclInt32, ncclSum, nullptr, nullptr, &requests[1]),
              ncclSuccess);
    ASSERT_EQ(rank.table().reduce_scatter(
                  rank.comm(), {{scatter_handle, scattered.data(), kElements * 4}},
                  scattered.data() + own, window, ncclInt32, ncclSum, scatter_handle, &requests[2]),
              ncclSuccess);
    for (void* request : requests) {
      ASSERT_NE(request, nullptr);
      ASSERT_EQ(rank.finish(request), ncclSuccess) << logged_lines();
    }
    EXPECT_EQ(summed, std::vector<int32_t>(50, 3));
    for (size_t at = 0; at < kElements; ++at) {
      ASSERT_EQ(gathered[at], static_cast<int32_t>(at / kBlock)) << at;
    }
    for (size_t at = own; at < own + kBlock; ++at) {
      ASSERT_EQ(scattered[at], static_cast<int32_t>(at) * kRanks) << at;
    }
    EXPECT_EQ(rank.table().deregister_memory(rank.comm(), gather_handle), ncclSuccess);
    EXPECT_EQ(rank.table().deregister_memory(rank.comm(), scatter_handle), ncclSuccess);
  });
  EXPECT_EQ(results, kAllFine) << logged_lines();
}

TEST_P(CollNetWindows, BadArgumentsAreRefused) {
  const auto results = run(kRanks, 24, [](Rank& rank, int index) {
    std::vector<int32_t> data(300, index);
    void* handle = nullptr;
    ASSERT_EQ(
        rank.table().register_memory(rank.comm(), data.data(), 1200, abi::kPointerHost, &handle),
        ncclSuccess);
    const auto refused = [&](const TableWindow& window, const std::vector<TablePart>& parts,
                             void* own, void* own_handle, void* comm) {
      void* request = poison();
      EXPECT_EQ(rank.table().allgather(comm, own, parts, window, own_handle, &request),
                ncclInvalidArgument);
      EXPECT_EQ(request, nullptr);
      request = poison();
      EXPECT_EQ(rank.table().reduce_scatter(comm, parts, own, window, ncclInt32, ncclSum,
                                            own_handle, &request),
                ncclInvalidArgument);
      EXPECT_EQ(request, nullptr);
    };
    const TablePart whole{handle, data.data(), 1200};
    const auto all = static_cast<size_t>(-1);
    refused({400, 0, 1200}, {whole}, data.data(), handle, nullptr);
    refused({400, 4, 1200}, {whole}, data.data(), handle, rank.comm());
    refused({400, all, 1200}, {whole}, data.data(), handle, rank.comm());
    refused({all, 0, 1200}, {whole}, data.data(), handle, rank.comm());
    refused({400, 0, 1200}, {}, data.data(), handle, rank.comm());
    refused({400, 0, 1200}, {whole, whole}, data.data(), handle, rank.comm());
    refused({400, 0, 1200}, {{handle, nullptr, 1200}}, data.data(), handle, rank.comm());
    refused({400, 0, 1200}, {{handle, data.data() + 1, 1200}}, data.data(), handle, rank.comm());
    refused({400, 0, 1200}, {whole}, nullptr, nullptr, rank.comm());
    refused({400, 0, 1200}, {whole}, data.data() + 299, handle, rank.comm());
    const auto scatter = [&](const TableWindow& window, ncclDataType_t type, ncclRedOp_t op) {
      void* request = poison();
      EXPECT_EQ(rank.table().reduce_scatter(rank.comm(), {{handle, data.data(), window.bytes}},
                                            data.data(), window, type, op, handle, &request),
                ncclInvalidArgument);
      EXPECT_EQ(request, nullptr);
    };
    scatter({400, 0, 1200}, ncclInt32, ncclAvg);
    scatter({400, 0, 1198}, ncclInt32, ncclSum);
    scatter({398, 0, 1192}, ncclInt32, ncclSum);
    scatter({400, 2, 1196}, ncclInt32, ncclSum);
    EXPECT_EQ(rank.table().deregister_memory(rank.comm(), handle), ncclSuccess);
    expect_gathered(rank, index, {400, 0, 1200}, {});  // usable as before
  });
  EXPECT_EQ(results, kAllFine) << logged_lines();
}

TEST(CollNetTables, HaveWindowedCollectivesFromVersion8) {
  const PluginLibrary library;
  for (int version = abi::kOldestVersion; version <= abi::kNewestVersion; ++version) {
    const auto table = CollNetTable::load(library, version);
    ASSERT_NE(table, nullptr);
    EXPECT_EQ(table->has_windowed_collectives(), version >= 8) << version;
  }
}

INSTANTIATE_TEST_SUITE_P(Versions, CollNetWindows, testing::Range(8, abi::kNewestVersion + 1),
                         [](const auto& version) {
                           return std::string("v").append(std::to_string(version.param));
                         });

}  // namespace
}  // namespace sluice::test
