// SPDX-License-Identifier: Apache-2.0
// In-network reduction through the exported CollNet tables, with a real aggregation node; ranks are
// threads.
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <thread>
#include <vector>

#include "tests/plugin/captured_log.h"
#include "tests/plugin/collnet_fixture.h"
#include "tests/plugin/node_program.h"
#include "tests/plugin/process_state.h"

namespace sluice::test {
namespace {

const std::vector<ncclResult_t> kThreeFine(3, ncclSuccess);

template <typename Element>
void expect_sums(Rank& rank, int index, size_t count, ncclDataType_t type) {
  std::vector<Element> send(count);
  std::vector<Element> receive(count, Element(77));
  for (size_t at = 0; at < count; ++at) {
    send[at] = static_cast<Element>(static_cast<int>(at % 13) + index);
  }
  int size = -1;
  ASSERT_EQ(rank.allreduce(send.data(), receive.data(), count, type, ncclSum, &size), ncclSuccess)
      << logged_lines();
  EXPECT_EQ(static_cast<size_t>(size), count * sizeof(Element));
  for (size_t at = 0; at < count; ++at) {
    ASSERT_EQ(receive[at], static_cast<Element>(3 * static_cast<int>(at % 13) + 3)) << at;
  }
}

TEST_P(CollNet, ThreeRanksReduce) {
  const NodeProgram node;
  ASSERT_FALSE(node.address().empty());
  setenv("SLUICE_AGG", node.address().c_str(), 1);
  const auto results = run(3, 1, [](Rank& rank, int index) {
    for (const size_t count : {size_t{1}, size_t{777}, size_t{300000}}) {
      expect_sums<float>(rank, index, count, ncclFloat32);
      expect_sums<double>(rank, index, count, ncclFloat64);
      expect_sums<int64_t>(rank, index, count, ncclInt64);
      expect_sums<uint8_t>(rank, index, count, ncclUint8);
    }
    // In place, registered, the largest of all.
    std::vector<int32_t> data(5000, index * 10);
    void* handle = nullptr;
    ASSERT_EQ(
        rank.table().register_memory(rank.comm(), data.data(), 20000, abi::kPointerHost, &handle),
        ncclSuccess);
    void* request = poison();
    ASSERT_EQ(rank.table().allreduce(rank.comm(), data.data(), data.data(), data.size(), ncclInt32,
                                     ncclMax, handle, handle, &request),
              ncclSuccess);
    ASSERT_EQ(rank.finish(request), ncclSuccess);
    EXPECT_EQ(data, std::vector<int32_t>(5000, 20));
    request = poison();
    EXPECT_EQ(rank.table().flush(rank.comm(), data.data(), 100, handle, &request), ncclSuccess);
    EXPECT_EQ(request, nullptr);
    EXPECT_EQ(rank.table().deregister_memory(rank.comm(), handle), ncclSuccess);
  });
  EXPECT_EQ(results, kThreeFine) << logged_lines();
  EXPECT_EQ(count_logged("in-network reduction on", NCCL_LOG_INFO), 3) << logged_lines();
}

TEST_P(CollNet, SixtyFourInFlightAndTwoCommunicators) {
  const NodeProgram node;
  ASSERT_FALSE(node.address().empty());
  setenv("SLUICE_AGG", node.address().c_str(), 1);
  const auto work = [](Rank& rank, int index) {
    constexpr size_t kOperations = 64;
    std::vector<std::vector<int32_t>> data(kOperations);
    std::vector<void*> requests;
    for (size_t operation = 0; operation < kOperations; ++operation) {
      data[operation].assign(operation % 2 == 0 ? 9000 : 3, static_cast<int>(operation) + index);
      void* request = poison();
      ASSERT_EQ(rank.table().allreduce(rank.comm(), data[operation].data(), data[operation].data(),
                                       data[operation].size(), ncclInt32, ncclSum, nullptr, nullptr,
                                       &request),
                ncclSuccess);
      ASSERT_NE(request, nullptr) << "operation " << operation;
      requests.push_back(request);
    }
    for (size_t operation = 0; operation < kOperations; ++operation) {
      ASSERT_EQ(rank.finish(requests[operation]), ncclSuccess) << logged_lines();
      EXPECT_EQ(data[operation],
                std::vector<int32_t>(data[operation].size(), 3 * static_cast<int>(operation) + 3));
    }
  };
  std::thread other([&] { EXPECT_EQ(run(3, 2, work), kThreeFine); });
  EXPECT_EQ(run(3, 3, work), kThreeFine);
  other.join();
}

TEST_P(CollNet, DevicesAreThoseOfNet) {
  setenv("SLUICE_AGG", "127.0.0.1:1", 1);
  Rank rank(version());
  ASSERT_EQ(rank.init(4), ncclSuccess);
  int count = -1;
  EXPECT_EQ(rank.table().devices(&count), ncclSuccess);
  EXPECT_EQ(count, 1);
  EXPECT_TRUE(rank.table().has_properties_of_net(rank.plugin_library()));
}

TEST_P(CollNet, SupportsWhatItCanDo) {
  setenv("SLUICE_AGG", "127.0.0.1:1", 1);
  Rank rank(version());
  int supported = 7;
  EXPECT_EQ(rank.table().reduce_support(ncclFloat32, ncclSum, &supported), ncclSuccess);
  EXPECT_EQ(supported, 0) << "before init";
  ASSERT_EQ(rank.init(4), ncclSuccess);
  for (const ncclDataType_t type : {ncclInt8, ncclUint64, ncclFloat16, ncclFloat32, ncclFloat64,
                                    ncclBfloat16, ncclFloat8e4m3, ncclFloat8e5m2}) {
    for (const ncclRedOp_t op : {ncclSum, ncclProd, ncclMax, ncclMin}) {
      supported = 7;
      EXPECT_EQ(rank.table().reduce_support(type, op, &supported), ncclSuccess);
      EXPECT_EQ(supported, 1) << type << ' ' << op;
    }
  }
  supported = 7;
  EXPECT_EQ(rank.table().reduce_support(ncclFloat32, ncclAvg, &supported), ncclSuccess);
  EXPECT_EQ(supported, 0);
}

TEST_P(CollNet, IsOffWithoutANodeAndSaysWhy) {
  {
    Rank rank(version());
    EXPECT_NE(rank.init(5), ncclSuccess);
    EXPECT_EQ(count_logged("in-network reduction off", NCCL_LOG_INFO), 1) << logged_lines();
  }
  setenv("SLUICE_AGG", "127.0.0.1:1", 1);
  setenv("NCCL_SHARP_DISABLE", "1", 1);
  Rank rank(version());
  EXPECT_NE(rank.init(5), ncclSuccess);
  EXPECT_EQ(count_logged("off: NCCL_SHARP_DISABLE", NCCL_LOG_INFO), 1) << logged_lines();
}

void expect_all_refused(const std::vector<ncclResult_t>& results) {
  for (const ncclResult_t result : results) EXPECT_NE(result, ncclSuccess);
  EXPECT_GE(count_logged("in-network reduction off"), static_cast<int>(results.size()))
      << logged_lines();
}

TEST_P(CollNet, MissingNodeIsRefusedOnAllRanks) {
  setenv("SLUICE_AGG", "127.0.0.1:1", 1);
  setenv("SLUICE_CONNECT_TIMEOUT", "2", 1);
  const int descriptors = open_descriptors();
  const auto start = std::chrono::steady_clock::now();
  expect_all_refused(run(3, 6, [](Rank&, int) { ADD_FAILURE() << "connected to nobody"; }));
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(30));
  EXPECT_EQ(open_descriptors(), descriptors) << "the dropped listens are left";
}

TEST_P(CollNet, RankThatNeverComesIsRefusedOnAllOthers) {
  const NodeProgram node;
  ASSERT_FALSE(node.address().empty());
  setenv("SLUICE_AGG", node.address().c_str(), 1);
  setenv("SLUICE_CONNECT_TIMEOUT", "2", 1);
  std::vector<std::unique_ptr<Rank>> group;
  std::vector<void*> handles;
  for (int index = 0; index < 3; ++index) {
    group.push_back(std::make_unique<Rank>(version()));
    ASSERT_EQ(group.back()->init(7), ncclSuccess);
    group.back()->listen();
    handles.push_back(group.back()->handle().data());
  }
  std::vector<ncclResult_t> results(2, ncclInProgress);
  std::vector<std::thread> threads;
  threads.reserve(2);
  const auto start = std::chrono::steady_clock::now();
  for (int index = 0; index < 2; ++index) {
    threads.emplace_back([&, index] {
      results[static_cast<size_t>(index)] =
          group[static_cast<size_t>(index)]->connect(handles, index);
    });
  }
  for (std::thread& thread : threads) thread.join();
  expect_all_refused(results);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(30));
}

TEST_P(CollNet, DeadNodeIsAStickyErrorWithoutFallback) {
  NodeProgram node;
  ASSERT_FALSE(node.address().empty());
  setenv("SLUICE_FALLBACK", "0", 1);
  setenv("SLUICE_AGG", node.address().c_str(), 1);
  setenv("SLUICE_PEER_TIMEOUT", "3", 1);
  std::atomic<int> ready = 0;
  const auto results = run(3, 8, [&](Rank& rank, int index) {
    std::vector<int32_t> data(100, index);
    EXPECT_EQ(rank.allreduce(data.data(), data.data(), 100, ncclInt32, ncclSum), ncclSuccess);
    if (++ready == 3) node.signal(SIGKILL);
    while (ready < 3) std::this_thread::yield();
    ncclResult_t result = ncclSuccess;
    const auto end = std::chrono::steady_clock::now() + kPatience;
    while (result == ncclSuccess && std::chrono::steady_clock::now() < end) {
      result = rank.allreduce(data.data(), data.data(), 100, ncclInt32, ncclSum);
    }
    EXPECT_NE(result, ncclSuccess);
    EXPECT_NE(rank.allreduce(data.data(), data.data(), 100, ncclInt32, ncclSum), ncclSuccess)
        << "the error did not stick";
  });
  EXPECT_EQ(results, kThreeFine);
}

TEST_P(CollNet, BadArgumentsAreRefused) {
  const NodeProgram node;
  ASSERT_FALSE(node.address().empty());
  setenv("SLUICE_AGG", node.address().c_str(), 1);
  const auto results = run(3, 9, [&](Rank& rank, int index) {
    std::vector<float> data(10, 1.0F);
    void* handle = nullptr;
    ASSERT_EQ(
        rank.table().register_memory(rank.comm(), data.data(), 40, abi::kPointerHost, &handle),
        ncclSuccess);
    const auto refused = [&](void* comm, void* send, size_t count, ncclRedOp_t op) {
      void* request = poison();
      EXPECT_EQ(rank.table().allreduce(comm, send, data.data(), count, ncclFloat32, op, handle,
                                       handle, &request),
                ncclInvalidArgument);
      EXPECT_EQ(request, nullptr);
    };
    refused(nullptr, data.data(), 10, ncclSum);
    refused(rank.comm(), data.data(), 11, ncclSum);
    refused(rank.comm(), nullptr, 10, ncclSum);
    refused(rank.comm(), data.data(), 10, ncclAvg);
    if (version() <= 8) refused(rank.comm(), data.data(), static_cast<size_t>(-1), ncclSum);
    void* other = poison();
    EXPECT_NE(rank.table().register_memory(rank.comm(), data.data(), 40, abi::kPointerCuda, &other),
              ncclSuccess);
    EXPECT_EQ(other, nullptr);
    EXPECT_EQ(rank.table().deregister_memory(rank.comm(), handle), ncclSuccess);
    expect_sums<float>(rank, index, 100, ncclFloat32);  // usable as before
  });
  EXPECT_EQ(results, kThreeFine);
}

INSTANTIATE_TEST_SUITE_P(Versions, CollNet,
                         testing::Range(abi::kOldestVersion, abi::kNewestVersion + 1),
                         [](const auto& version) {
                           return std::string("v").append(std::to_string(version.param));
                         });

}  // namespace
}  // namespace sluice::test
