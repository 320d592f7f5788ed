// SPDX-License-Identifier: Apache-2.0
// What the contract tests start from: the plugin loaded, one version's table, one communicator of
// it, and both ends of connections in this process.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "tests/plugin/net_table.h"

namespace sluice::test {

using Handle = std::array<char, abi::kHandleBytes>;
inline constexpr auto kPatience = std::chrono::seconds(60);  // for what should take milliseconds

// The environment of a test: loopback only, no settings of the user.
void set_environment(const char* transport);

// Stands for "nobody has written here".
inline void* poison() {
  static char nowhere;
  return &nowhere;
}

struct ConnectionPair {
  void* send = nullptr;
  void* receive = nullptr;
};

// A loaded plugin with one communicator.
class Session {
 public:
  explicit Session(int version);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  NetTable& net() { return *net_; }
  void* context() { return context_; }

  void* listen(Handle& handle);
  // Drives both ends until the connection is there; nulls when it does not come.
  ConnectionPair establish(Handle& handle, void* listen_comm);
  ConnectionPair establish();
  void close(const ConnectionPair& pair);
  // Drives until connect() answers.
  void* connect(Handle handle, ncclResult_t* result = nullptr);

  // Tests the requests in turn until all are done; the first error ends it. sizes[i] has room
  // for 8.
  ncclResult_t finish(std::vector<void*> requests,
                      std::vector<std::array<int, 8>>* sizes = nullptr);
  // Until the request is done or fails.
  ncclResult_t finish(void* request, int* sizes = nullptr);
  void finalize();

 private:
  std::unique_ptr<PluginLibrary> library_;
  std::unique_ptr<NetTable> net_;
  void* context_ = nullptr;
  bool initialised_ = false;
};

// Memory registered on a connection.
class Buffer {
 public:
  Buffer(Session& session, void* comm, size_t size, int seed = 0);
  ~Buffer();
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  char* data() { return bytes_.data(); }
  size_t size() const { return bytes_.size(); }
  void* handle() { return handle_; }
  std::vector<char>& bytes() { return bytes_; }

 private:
  Session& session_;
  void* comm_;
  std::vector<char> bytes_;
  void* handle_ = nullptr;
};

// One suite over all versions and transports.
class NetContract : public testing::TestWithParam<std::tuple<int, const char*>> {
 protected:
  void SetUp() override;
  void TearDown() override { session_.reset(); }
  Session& session() { return *session_; }
  NetTable& net() { return session_->net(); }
  // One receive of one buffer.
  void* post_receive(void* comm, Buffer& buffer, int tag = 0, int64_t size = -1);
  void* post_send(void* comm, Buffer& buffer, int tag = 0, int64_t size = -1);

  std::optional<Session> session_;
};

std::string name_of(const testing::TestParamInfo<std::tuple<int, const char*>>& info);

#define SLUICE_INSTANTIATE_NET(suite)                                                \
  INSTANTIATE_TEST_SUITE_P(                                                          \
      Versions, suite,                                                               \
      testing::Combine(testing::Range(abi::kOldestVersion, abi::kNewestVersion + 1), \
                       testing::Values("tcp", "shm")),                               \
      name_of)

}  // namespace sluice::test
