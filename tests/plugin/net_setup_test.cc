// SPDX-License-Identifier: Apache-2.0
// How connections come about and what is left when they do not.
#include <cstdlib>
#include <cstring>

#include "tests/plugin/captured_log.h"
#include "tests/plugin/net_fixture.h"
#include "tests/plugin/process_state.h"

namespace sluice::test {
namespace {

using NetSetup = NetContract;

// One message, so that the two ends are known to belong together.
void expect_connected(Session& session, const ConnectionPair& pair, int seed) {
  Buffer source(session, pair.send, 100, seed);
  Buffer target(session, pair.receive, 100, -1);
  void* data = target.data();
  void* handle = target.handle();
  int64_t size = 100;
  int tag = 0;
  std::vector<void*> requests(2);
  ASSERT_EQ(session.net().receive(pair.receive, 1, &data, &size, &tag, &handle, &requests[0]),
            ncclSuccess);
  ASSERT_EQ(session.net().send(pair.send, source.data(), 100, 0, source.handle(), &requests[1]),
            ncclSuccess);
  ASSERT_EQ(session.finish(requests), ncclSuccess);
  EXPECT_EQ(source.bytes(), target.bytes());
}

TEST_P(NetSetup, OneListenAcceptsManyTimes) {
  Handle handle;
  void* listen_comm = session().listen(handle);
  std::vector<ConnectionPair> pairs;
  for (int index = 0; index < 4; ++index) pairs.push_back(session().establish(handle, listen_comm));
  EXPECT_EQ(net().close_listen(listen_comm), ncclSuccess);
  for (const ConnectionPair& pair : pairs) {
    expect_connected(session(), pair, 3);
    session().close(pair);
  }
}

TEST_P(NetSetup, HandleMayMoveBetweenCalls) {
  Handle handle;
  void* listen_comm = session().listen(handle);
  ConnectionPair pair;
  // A fresh copy for each call, at a new address each time, wiped after it.
  const auto end = std::chrono::steady_clock::now() + kPatience;
  std::vector<std::unique_ptr<Handle>> copies;
  while ((pair.send == nullptr || pair.receive == nullptr) &&
         std::chrono::steady_clock::now() < end) {
    if (pair.send == nullptr) {
      copies.push_back(std::make_unique<Handle>(handle));
      ASSERT_EQ(net().connect(session().context(), 0, copies.back()->data(), &pair.send),
                ncclSuccess);
      EXPECT_EQ(*copies.back(), handle) << "the plugin wrote into the handle";
      copies.back()->fill(0);
      if (copies.size() > 64) copies.erase(copies.begin(), copies.begin() + 32);
    }
    if (pair.receive == nullptr) {
      ASSERT_EQ(net().accept(listen_comm, &pair.receive), ncclSuccess);
    }
  }
  expect_connected(session(), pair, 1);
  EXPECT_EQ(net().close_listen(listen_comm), ncclSuccess);
  session().close(pair);
}

TEST_P(NetSetup, ListenClosesWhileOthersAreUnderWay) {
  Handle handle;
  void* listen_comm = session().listen(handle);
  // A second attempt is begun and never finished.
  void* other = nullptr;
  Handle copy = handle;
  ASSERT_EQ(net().connect(session().context(), 0, copy.data(), &other), ncclSuccess);
  const ConnectionPair pair = session().establish(handle, listen_comm);
  EXPECT_EQ(net().close_listen(listen_comm), ncclSuccess);
  expect_connected(session(), pair, 2);
  EXPECT_EQ(net().close_send(other), ncclSuccess);
  session().close(pair);
  EXPECT_EQ(net().close_listen(listen_comm), ncclInvalidArgument) << "closed twice";
}

TEST_P(NetSetup, AbandonedListensAndHalfOpenConnectsAreFreed) {
  session_.reset();
  const int descriptors = open_descriptors();
  const int before = threads_at_rest();
  session_.emplace(std::get<0>(GetParam()));
  std::array<Handle, 3> handles;
  for (Handle& handle : handles) session().listen(handle);
  for (Handle& handle : handles) {
    void* comm = nullptr;
    EXPECT_EQ(net().connect(session().context(), 0, handle.data(), &comm), ncclSuccess);
    EXPECT_EQ(comm, nullptr);
  }
  EXPECT_GT(open_descriptors(), descriptors);
  if (net().has_finalize()) {
    session().finalize();
  } else {
    session_.reset();  // v6..v10: the library's destructor does it
  }
  EXPECT_EQ(open_descriptors(), descriptors);
  EXPECT_TRUE(wait_for_threads(before));
}

TEST_P(NetSetup, ForeignHandlesAreRefused) {
  Handle good;
  void* listen_comm = session().listen(good);
  Handle zero{};
  Handle noise;
  noise.fill('\x77');
  Handle truncated = good;
  std::fill(truncated.begin() + 24, truncated.end(), '\0');
  Handle flipped = good;
  flipped[20] = static_cast<char>(flipped[20] ^ 1);
  for (Handle* handle : {&zero, &noise, &truncated, &flipped}) {
    void* comm = poison();
    EXPECT_NE(net().connect(session().context(), 0, handle->data(), &comm), ncclSuccess);
    EXPECT_EQ(comm, nullptr);
  }
  EXPECT_GE(count_logged("", NCCL_LOG_WARN), 4);
  // The listener is none the worse for it.
  const ConnectionPair pair = session().establish(good, listen_comm);
  expect_connected(session(), pair, 8);
  session().close(pair);
  EXPECT_EQ(net().close_listen(listen_comm), ncclSuccess);
}

TEST_P(NetSetup, BadArgumentsOfSetup) {
  Handle handle;
  void* comm = poison();
  EXPECT_EQ(net().listen(session().context(), 1, handle.data(), &comm), ncclInvalidArgument);
  EXPECT_EQ(comm, nullptr);
  comm = poison();
  EXPECT_EQ(net().listen(session().context(), 0, nullptr, &comm), ncclInvalidArgument);
  EXPECT_EQ(comm, nullptr);
  comm = poison();
  EXPECT_EQ(net().connect(session().context(), -1, handle.data(), &comm), ncclInvalidArgument);
  EXPECT_EQ(comm, nullptr);
  comm = poison();
  EXPECT_EQ(net().accept(&handle, &comm), ncclInvalidArgument);
  EXPECT_EQ(comm, nullptr);
  comm = poison();
  EXPECT_EQ(net().accept(nullptr, &comm), ncclInvalidArgument);
  EXPECT_EQ(comm, nullptr);
  EXPECT_EQ(net().close_listen(nullptr), ncclSuccess);
  EXPECT_EQ(net().close_send(nullptr), ncclSuccess);
  EXPECT_EQ(net().close_receive(nullptr), ncclSuccess);
  if (net().has_finalize()) {
    EXPECT_EQ(net().finalize(&handle), ncclInvalidArgument);
    EXPECT_EQ(net().listen(&handle, 0, handle.data(), &comm), ncclInvalidArgument);
    EXPECT_EQ(net().listen(nullptr, 0, handle.data(), &comm), ncclInvalidArgument);
  }
}

TEST_P(NetSetup, ConnectToNobodyFailsInTime) {
  session_.reset();
  setenv("SLUICE_CONNECT_TIMEOUT", "1", 1);
  session_.emplace(std::get<0>(GetParam()));
  Handle handle;
  void* listen_comm = session().listen(handle);
  EXPECT_EQ(net().close_listen(listen_comm), ncclSuccess);
  ncclResult_t result = ncclSuccess;
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(session().connect(handle, &result), nullptr);
  EXPECT_NE(result, ncclSuccess);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
  EXPECT_GE(count_logged("", NCCL_LOG_WARN), 1);
}

TEST_P(NetSetup, SettingsAreReadAgainAfterTheLastFinalize) {
  EXPECT_EQ(count_logged("lane 1"), 1) << logged_lines();
  if (!net().has_finalize()) {  // there the first init counts, until the library is unloaded
    setenv("SLUICE_LANE", "3", 1);
    EXPECT_EQ(net().init(nullptr, 0), ncclSuccess);
    EXPECT_EQ(count_logged("lane 3"), 0) << logged_lines();
    session_.reset();
    session_.emplace(std::get<0>(GetParam()));
    EXPECT_EQ(count_logged("lane 3"), 1) << logged_lines();
    unsetenv("SLUICE_LANE");
    return;
  }
  session().finalize();
  setenv("SLUICE_LANE", "3", 1);
  void* context = nullptr;
  ASSERT_EQ(net().init(&context, 77), ncclSuccess);
  EXPECT_EQ(count_logged("lane 3"), 1) << logged_lines();
  int count = 0;
  EXPECT_EQ(net().devices(&count), ncclSuccess);
  EXPECT_EQ(count, 1);
  // A second communicator, with a traffic class that the explicit lane overrides.
  void* second = nullptr;
  ASSERT_EQ(net().init(&second, 78, 5), ncclSuccess);
  EXPECT_NE(second, context);
  EXPECT_EQ(count_logged("lane 3"), 2) << logged_lines();
  EXPECT_EQ(net().finalize(second), ncclSuccess);
  EXPECT_EQ(net().finalize(context), ncclSuccess);
  EXPECT_EQ(net().finalize(context), ncclInvalidArgument) << "finalized twice";
  unsetenv("SLUICE_LANE");
}

SLUICE_INSTANTIATE_NET(NetSetup);

}  // namespace
}  // namespace sluice::test
