// SPDX-License-Identifier: Apache-2.0
// What the CollNet tests start from: ranks that are threads, each with the plugin loaded, one
// version's table and a place in a group.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/plugin/captured_log.h"
#include "tests/plugin/collnet_table.h"
#include "tests/plugin/net_fixture.h"

namespace sluice::test {

// One rank: a communicator of its own and its place in a group.
class Rank {
 public:
  explicit Rank(int version) : table_(CollNetTable::load(library_, version)) {}
  ~Rank() { finalize(); }
  Rank(const Rank&) = delete;
  Rank& operator=(const Rank&) = delete;

  CollNetTable& table() { return *table_; }
  const PluginLibrary& plugin_library() { return library_; }
  void* comm() { return comm_; }

  ncclResult_t init(uint64_t communicator) {
    const ncclResult_t result = table_->init(&context_, communicator);
    initialised_ = result == ncclSuccess;
    return result;
  }
  void listen() {
    EXPECT_EQ(table_->listen(context_, 0, handle_.data(), &listen_comm_), ncclSuccess);
  }
  Handle& handle() { return handle_; }
  ncclResult_t connect(std::vector<void*> handles, int rank) {
    comm_ = poison();
    const ncclResult_t result = table_->connect(handles.data(), static_cast<int>(handles.size()),
                                                rank, listen_comm_, &comm_);
    // As NCCL: the listen is closed after success, dropped after failure.
    if (result == ncclSuccess) {
      EXPECT_EQ(table_->close_listen(listen_comm_), ncclSuccess);
    }
    return result;
  }
  ncclResult_t finish(void* request, int* size = nullptr) {
    const auto end = std::chrono::steady_clock::now() + kPatience;
    for (int done = 0; std::chrono::steady_clock::now() < end; std::this_thread::yield()) {
      int bytes = -1;
      const ncclResult_t result = table_->test(request, &done, &bytes);
      if (result != ncclSuccess) return result;
      if (done != 0) {
        if (size != nullptr) *size = bytes;
        return ncclSuccess;
      }
    }
    return ncclInProgress;
  }
  // One operation from start to end.
  ncclResult_t allreduce(void* send, void* receive, size_t count, ncclDataType_t type,
                         ncclRedOp_t op, int* size = nullptr) {
    void* request = poison();
    const ncclResult_t result =
        table_->allreduce(comm_, send, receive, count, type, op, nullptr, nullptr, &request);
    if (result != ncclSuccess) {
      EXPECT_EQ(request, nullptr);
      return result;
    }
    return finish(request, size);
  }
  void close() { EXPECT_EQ(table_->close_coll(std::exchange(comm_, nullptr)), ncclSuccess); }
  void finalize() {
    if (!std::exchange(initialised_, false)) return;
    EXPECT_EQ(table_->finalize(context_), ncclSuccess);
  }

 private:
  PluginLibrary library_;
  std::unique_ptr<CollNetTable> table_;
  void* context_ = nullptr;
  void* listen_comm_ = nullptr;
  void* comm_ = nullptr;
  Handle handle_{};
  bool initialised_ = false;
};

class CollNet : public testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    forget_log();
    set_environment("auto");
  }
  int version() const { return GetParam(); }

  // All ranks listen, then each connects in a thread of its own and, if that worked, does `work`.
  std::vector<ncclResult_t> run(int ranks, uint64_t communicator,
                                const std::function<void(Rank&, int)>& work) {
    std::vector<std::unique_ptr<Rank>> group;
    std::vector<void*> handles;
    for (int index = 0; index < ranks; ++index) {
      group.push_back(std::make_unique<Rank>(version()));
      EXPECT_EQ(group.back()->init(communicator), ncclSuccess) << logged_lines();
      group.back()->listen();
      handles.push_back(group.back()->handle().data());
    }
    std::vector<ncclResult_t> results(group.size(), ncclInProgress);
    std::vector<std::thread> threads;
    threads.reserve(group.size());
    for (int index = 0; index < ranks; ++index) {
      threads.emplace_back([&, index] {
        Rank& rank = *group[static_cast<size_t>(index)];
        ncclResult_t& result = results[static_cast<size_t>(index)];
        result = rank.connect(handles, index);
        if (result != ncclSuccess) {
          EXPECT_EQ(rank.comm(), nullptr);
          return;
        }
        work(rank, index);
        rank.close();
      });
    }
    for (std::thread& thread : threads) thread.join();
    return results;
  }
};

}  // namespace sluice::test
