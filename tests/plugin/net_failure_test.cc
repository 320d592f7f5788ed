// SPDX-License-Identifier: Apache-2.0
// What happens when a peer dies, when a communicator is aborted, and when the process forks or
// exits.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <thread>

#include "tests/plugin/captured_log.h"
#include "tests/plugin/forked_peer.h"
#include "tests/plugin/net_fixture.h"
#include "tests/plugin/process_state.h"

namespace sluice::test {
namespace {

// These load the plugin themselves: a peer is forked first.
class NetFailure : public testing::TestWithParam<std::tuple<int, const char*>> {
 protected:
  void SetUp() override {
    forget_log();
    set_environment(std::get<1>(GetParam()));
    setenv("SLUICE_PEER_TIMEOUT", "2", 1);
  }
  void TearDown() override { unsetenv("SLUICE_PEER_TIMEOUT"); }
  int version() const { return std::get<0>(GetParam()); }
};

// The peer's part: takes the handle, connects, says so, then sleeps until it is killed.
int connect_and_sleep(int version, Pipe& pipe) {
  Session session(version);
  Handle handle;
  if (!pipe.receive(handle.data(), handle.size())) return 1;
  if (session.connect(handle) == nullptr) return 2;
  char ready = 1;
  if (!pipe.send(&ready, 1)) return 3;
  pipe.receive(&ready, 1);
  return 0;
}

// The other part: listens and accepts.
void* accept_from(Session& session, ForkedPeer& peer) {
  Handle handle;
  void* listen_comm = session.listen(handle);
  EXPECT_TRUE(peer.pipe().send(handle.data(), handle.size()));
  void* comm = nullptr;
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while (comm == nullptr && std::chrono::steady_clock::now() < end) {
    EXPECT_EQ(session.net().accept(listen_comm, &comm), ncclSuccess) << logged_lines();
  }
  EXPECT_NE(comm, nullptr);
  EXPECT_EQ(session.net().close_listen(listen_comm), ncclSuccess);
  char ready = 0;
  EXPECT_TRUE(peer.pipe().receive(&ready, 1));
  return comm;
}

ncclResult_t post(Session& session, void* comm, Buffer& buffer, void** request) {
  void* data = buffer.data();
  void* handle = buffer.handle();
  auto size = static_cast<int64_t>(buffer.size());
  int tag = 0;
  *request = poison();
  return session.net().receive(comm, 1, &data, &size, &tag, &handle, request);
}

void expect_sticky_error(Session& session, void* comm, int signal_number, ForkedPeer& peer) {
  NetTable& net = session.net();
  auto buffer = std::make_unique<Buffer>(session, comm, 4096);
  void* request = nullptr;
  ASSERT_EQ(post(session, comm, *buffer, &request), ncclSuccess);
  ASSERT_NE(request, nullptr);
  peer.signal(signal_number);
  EXPECT_NE(session.finish(request), ncclSuccess);
  int done = 1;
  const ncclResult_t first = net.test(request, &done, nullptr);
  EXPECT_NE(first, ncclSuccess) << "the error did not stick";
  EXPECT_EQ(done, 0);
  void* second = nullptr;
  EXPECT_NE(post(session, comm, *buffer, &second), ncclSuccess);
  EXPECT_EQ(second, nullptr) << "the request must be written on errors too";
  EXPECT_EQ(count_logged("receive from", NCCL_LOG_WARN), 1) << logged_lines();
  buffer.reset();  // deregisters, with a request in flight on a broken connection
  EXPECT_EQ(net.close_receive(comm), ncclSuccess);
}

TEST_P(NetFailure, KilledPeerIsAStickyError) {
  ForkedPeer peer([&](Pipe& pipe) { return connect_and_sleep(version(), pipe); });
  Session session(version());
  void* comm = accept_from(session, peer);
  ASSERT_NE(comm, nullptr);
  expect_sticky_error(session, comm, SIGKILL, peer);
  EXPECT_EQ(peer.wait(), 128 + SIGKILL);
}

TEST_P(NetFailure, StoppedPeerIsNoticed) {
  ForkedPeer peer([&](Pipe& pipe) { return connect_and_sleep(version(), pipe); });
  Session session(version());
  void* comm = accept_from(session, peer);
  ASSERT_NE(comm, nullptr);
  expect_sticky_error(session, comm, SIGSTOP, peer);
}

TEST_P(NetFailure, ClosedPeerIsAnError) {
  Session session(version());
  const ConnectionPair pair = session.establish();
  Buffer buffer(session, nullptr, 64);
  void* request = nullptr;
  ASSERT_EQ(post(session, pair.receive, buffer, &request), ncclSuccess);
  EXPECT_EQ(session.net().close_send(pair.send), ncclSuccess);
  EXPECT_NE(session.finish(request), ncclSuccess);
  EXPECT_EQ(session.net().close_receive(pair.receive), ncclSuccess);
}

TEST_P(NetFailure, AbortWithRequestsInFlight) {
  const int descriptors = open_descriptors();
  const int before = threads_at_rest();
  {
    Session session(version());
    NetTable& net = session.net();
    const ConnectionPair pair = session.establish();
    auto source = std::make_unique<Buffer>(session, pair.send, 4 << 20);
    auto target = std::make_unique<Buffer>(session, pair.receive, 4 << 20);
    for (int round = 0; round < 6; ++round) {
      void* request = nullptr;
      EXPECT_EQ(post(session, pair.receive, *target, &request), ncclSuccess);
      EXPECT_EQ(net.send(pair.send, source->data(), 4 << 20, 0, source->handle(), &request),
                ncclSuccess);
      int done = 0;
      EXPECT_EQ(net.test(request, &done, nullptr), ncclSuccess);
    }
    // As NCCL does: deregister, free the memory, close; nobody tests any more.
    target.reset();
    source.reset();
    session.close(pair);
  }
  EXPECT_EQ(open_descriptors(), descriptors);
  EXPECT_TRUE(wait_for_threads(before));
}

TEST_P(NetFailure, MemoryIsSafeOnceItIsDeregistered) {
  ForkedPeer peer([&](Pipe& pipe) {
    Session session(version());
    Handle handle;
    if (!pipe.receive(handle.data(), handle.size())) return 1;
    void* comm = session.connect(handle);
    if (comm == nullptr) return 2;
    char ready = 1;
    if (!pipe.send(&ready, 1) || !pipe.receive(&ready, 1)) return 3;
    // The receiver has taken its memory back meanwhile; whatever happens here is an error or
    // nothing.
    std::vector<char> data(65536, 'x');
    void* request = nullptr;
    if (session.net().send(comm, data.data(), 65536, 0, nullptr, &request) == ncclSuccess &&
        request != nullptr) {
      int done = 0;
      for (int round = 0; round < 100 && done == 0; ++round) {
        if (session.net().test(request, &done, nullptr) != ncclSuccess) break;
      }
    }
    if (!pipe.send(&ready, 1)) return 4;
    pipe.receive(&ready, 1);
    return 0;
  });
  Session session(version());
  void* comm = accept_from(session, peer);
  ASSERT_NE(comm, nullptr);
  std::vector<char> memory(65536, 'a');
  void* handle = nullptr;
  ASSERT_EQ(session.net().register_memory(comm, memory.data(), 65536, abi::kPointerHost, &handle),
            ncclSuccess);
  void* data = memory.data();
  int64_t size = 65536;
  int tag = 0;
  void* request = nullptr;
  ASSERT_EQ(session.net().receive(comm, 1, &data, &size, &tag, &handle, &request), ncclSuccess);
  EXPECT_EQ(session.net().deregister_memory(comm, handle), ncclSuccess);
  char go = 1;
  EXPECT_TRUE(peer.pipe().send(&go, 1));
  EXPECT_TRUE(peer.pipe().receive(&go, 1));
  int done = 0;
  EXPECT_NE(session.net().test(request, &done, nullptr), ncclSuccess);
  EXPECT_EQ(memory, std::vector<char>(65536, 'a'));
  EXPECT_EQ(session.net().close_receive(comm), ncclSuccess);
  EXPECT_TRUE(peer.pipe().send(&go, 1));
  EXPECT_EQ(peer.wait(), 0);
}

// A child that is forked in the middle, uses nothing and ends, whichever way.
int fork_and_end(bool by_exit) {
  const pid_t child = fork();
  if (child == 0) {
    if (by_exit) std::exit(0);
    _exit(0);
  }
  int status = -1;
  waitpid(child, &status, 0);
  return status;
}

TEST_P(NetFailure, ForkIsHarmless) {
  // In a process of its own: exit() of a forked child would end the test program's fixtures.
  ForkedPeer peer([&](Pipe&) {
    Session session(version());
    Handle abandoned;
    session.listen(abandoned);
    const ConnectionPair pair = session.establish();
    for (const bool by_exit : {false, true}) {
      if (fork_and_end(by_exit) != 0) return 1;
    }
    Buffer source(session, nullptr, 1 << 20, 1);
    Buffer target(session, nullptr, 1 << 20, -1);
    std::vector<void*> requests(2);
    post(session, pair.receive, target, &requests[0]);
    session.net().send(pair.send, source.data(), 1 << 20, 0, nullptr, &requests[1]);
    if (session.finish(requests) != ncclSuccess) return 2;
    session.close(pair);
    return source.bytes() == target.bytes() && !testing::Test::HasFailure() ? 0 : 3;
  });
  EXPECT_EQ(peer.wait(), 0);
}

// What the next test leaves alive; reachable, so that the leak checker knows it is meant.
struct LeftAlive {
  Session* session = nullptr;
  ConnectionPair pair;
  Buffer* buffer = nullptr;
  void* request = nullptr;
};
LeftAlive left_alive;

TEST_P(NetFailure, ExitWithLiveCommunicators) {
  ForkedPeer peer([&](Pipe&) {
    LeftAlive& left = left_alive;
    left.session = new Session(version());
    Handle abandoned;
    left.session->listen(abandoned);
    left.pair = left.session->establish();
    left.buffer = new Buffer(*left.session, left.pair.receive, 4096);
    post(*left.session, left.pair.receive, *left.buffer, &left.request);
    // As NCCL's progress thread, which knows nothing of the exit.
    std::atomic<int> tested = 0;
    std::thread([&] {
      for (int done = 0; done == 0; ++tested) {
        left.session->net().test(left.request, &done, nullptr);
      }
    }).detach();
    while (tested < 10) std::this_thread::yield();
    std::exit(testing::Test::HasFailure() ? 1 : 0);
    return 0;
  });
  EXPECT_EQ(peer.wait(), 0);
}

TEST_P(NetFailure, UnloadWithOpenConnections) {
  ForkedPeer peer([&](Pipe&) {
    const int threads_before = threads_at_rest();
    LeftAlive& left = left_alive;
    left.session = new Session(version());
    left.pair = left.session->establish();
    const bool established = left.pair.send != nullptr && left.pair.receive != nullptr;
    delete left.session;  // finalize, where there is one, and dlclose
    left.session = nullptr;
    return established && wait_for_threads(threads_before) ? 0 : 1;
  });
  EXPECT_EQ(peer.wait(), 0);
}

SLUICE_INSTANTIATE_NET(NetFailure);

}  // namespace
}  // namespace sluice::test
