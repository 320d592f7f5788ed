// SPDX-License-Identifier: Apache-2.0
#include "tests/plugin/net_fixture.h"

#include <cstdlib>
#include <thread>

#include "tests/plugin/captured_log.h"

namespace sluice::test {
namespace {

class Patience {
 public:
  bool over() {
    if (std::chrono::steady_clock::now() > end_) return true;
    if (++rounds_ % 64 == 0) std::this_thread::yield();
    return false;
  }

 private:
  std::chrono::steady_clock::time_point end_ = std::chrono::steady_clock::now() + kPatience;
  int rounds_ = 0;
};

}  // namespace

void set_environment(const char* transport) {
  setenv("SLUICE_TRANSPORT", transport, 1);
  setenv("NCCL_SOCKET_IFNAME", "=lo", 1);
  setenv("NCCL_SOCKET_FAMILY", "AF_INET", 1);
  setenv("HOME", "/nonexistent", 1);
  for (const char* name : {"NCCL_CONF_FILE", "SLUICE_CONFIG", "SLUICE_AGG", "SLUICE_LANE",
                           "NCCL_IB_TC", "SLUICE_CONNECT_TIMEOUT", "SLUICE_ACCEPT_TIMEOUT",
                           "SLUICE_PEER_TIMEOUT", "SLUICE_FALLBACK", "NCCL_SHARP_DISABLE"}) {
    unsetenv(name);
  }
}

Session::Session(int version) : library_(std::make_unique<PluginLibrary>()) {
  net_ = NetTable::load(*library_, version);
  EXPECT_NE(net_, nullptr) << library_->error();
  if (net_ == nullptr) return;
  const ncclResult_t result = net_->init(&context_, 0xabc0 + static_cast<uint64_t>(version));
  EXPECT_EQ(result, ncclSuccess) << logged_lines();
  initialised_ = result == ncclSuccess;
}

Session::~Session() {
  finalize();
}

void Session::finalize() {
  if (!initialised_) return;
  initialised_ = false;
  EXPECT_EQ(net_->finalize(context_), ncclSuccess);
}

void* Session::listen(Handle& handle) {
  handle.fill('\x5a');
  void* listen_comm = nullptr;
  EXPECT_EQ(net_->listen(context_, 0, handle.data(), &listen_comm), ncclSuccess) << logged_lines();
  EXPECT_NE(listen_comm, nullptr);
  return listen_comm;
}

ConnectionPair Session::establish(Handle& handle, void* listen_comm) {
  ConnectionPair pair;
  Patience patience;
  while (pair.send == nullptr || pair.receive == nullptr) {
    if (pair.send == nullptr) {
      pair.send = poison();
      if (net_->connect(context_, 0, handle.data(), &pair.send) != ncclSuccess) break;
    }
    if (pair.receive == nullptr) {
      pair.receive = poison();
      if (net_->accept(listen_comm, &pair.receive) != ncclSuccess) break;
    }
    if (patience.over()) break;
  }
  EXPECT_TRUE(pair.send != nullptr && pair.receive != nullptr) << logged_lines();
  return pair;
}

ConnectionPair Session::establish() {
  Handle handle;
  void* listen_comm = listen(handle);
  const ConnectionPair pair = establish(handle, listen_comm);
  EXPECT_EQ(net_->close_listen(listen_comm), ncclSuccess);
  return pair;
}

void* Session::connect(Handle handle, ncclResult_t* result) {
  void* comm = nullptr;
  Patience patience;
  ncclResult_t last = ncclSuccess;
  while (comm == nullptr && last == ncclSuccess && !patience.over()) {
    last = net_->connect(context_, 0, handle.data(), &comm);
  }
  if (result != nullptr) *result = last;
  return comm;
}

void Session::close(const ConnectionPair& pair) {
  EXPECT_EQ(net_->close_send(pair.send), ncclSuccess);
  EXPECT_EQ(net_->close_receive(pair.receive), ncclSuccess);
}

ncclResult_t Session::finish(std::vector<void*> requests, std::vector<std::array<int, 8>>* sizes) {
  if (sizes != nullptr) sizes->assign(requests.size(), {-1, -1, -1, -1, -1, -1, -1, -1});
  size_t left = requests.size();
  Patience patience;
  while (left != 0) {
    for (size_t index = 0; index < requests.size(); ++index) {
      if (requests[index] == nullptr) continue;
      int done = -1;
      int* where = sizes == nullptr ? nullptr : (*sizes)[index].data();
      const ncclResult_t result = net_->test(requests[index], &done, where);
      if (result != ncclSuccess) return result;
      if (done != 1) continue;
      requests[index] = nullptr;
      --left;
    }
    if (patience.over()) {
      ADD_FAILURE() << left << " requests do not end";
      return ncclInProgress;
    }
  }
  return ncclSuccess;
}

ncclResult_t Session::finish(void* request, int* sizes) {
  std::vector<std::array<int, 8>> all;
  const ncclResult_t result = finish(std::vector<void*>{request}, &all);
  if (sizes != nullptr) std::copy(all[0].begin(), all[0].end(), sizes);
  return result;
}

Buffer::Buffer(Session& session, void* comm, size_t size, int seed)
    : session_(session), comm_(comm), bytes_(size) {
  for (size_t index = 0; index < size; ++index) {
    bytes_[index] = static_cast<char>((index * 31 + (index >> 8) * 7) ^ static_cast<size_t>(seed));
  }
  if (comm_ == nullptr || size == 0) return;
  EXPECT_EQ(session_.net().register_memory(comm_, bytes_.data(), static_cast<int64_t>(size),
                                           abi::kPointerHost, &handle_),
            ncclSuccess);
}

Buffer::~Buffer() {
  if (handle_ != nullptr) {
    EXPECT_EQ(session_.net().deregister_memory(comm_, handle_), ncclSuccess);
  }
}

void NetContract::SetUp() {
  forget_log();
  set_environment(std::get<1>(GetParam()));
  session_.emplace(std::get<0>(GetParam()));
}

void* NetContract::post_receive(void* comm, Buffer& buffer, int tag, int64_t size) {
  void* data = buffer.data();
  void* handle = buffer.handle();
  void* request = nullptr;
  if (size < 0) size = static_cast<int64_t>(buffer.size());
  EXPECT_EQ(net().receive(comm, 1, &data, &size, &tag, &handle, &request), ncclSuccess);
  return request;
}

void* NetContract::post_send(void* comm, Buffer& buffer, int tag, int64_t size) {
  void* request = nullptr;
  if (size < 0) size = static_cast<int64_t>(buffer.size());
  EXPECT_EQ(net().send(comm, buffer.data(), size, tag, buffer.handle(), &request), ncclSuccess);
  return request;
}

std::string name_of(const testing::TestParamInfo<std::tuple<int, const char*>>& info) {
  std::string name = "v";
  return name.append(std::to_string(std::get<0>(info.param)))
      .append("_")
      .append(std::get<1>(info.param));
}

}  // namespace sluice::test
