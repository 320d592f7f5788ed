// SPDX-License-Identifier: Apache-2.0
// NCCL's threads: registration beside traffic on one connection, many communicators side by side.
#include <atomic>
#include <thread>

#include "tests/plugin/captured_log.h"
#include "tests/plugin/net_fixture.h"
#include "tests/plugin/process_state.h"

namespace sluice::test {
namespace {

using NetThreads = NetContract;

void transfer(Session& session, const ConnectionPair& pair, Buffer& source, Buffer& target,
              int rounds) {
  for (int round = 0; round < rounds; ++round) {
    void* data = target.data();
    void* handle = target.handle();
    auto size = static_cast<int64_t>(target.size());
    int tag = round;
    std::vector<void*> requests(2);
    ASSERT_EQ(session.net().receive(pair.receive, 1, &data, &size, &tag, &handle, &requests[0]),
              ncclSuccess);
    ASSERT_EQ(
        session.net().send(pair.send, source.data(), size, tag, source.handle(), &requests[1]),
        ncclSuccess);
    ASSERT_EQ(session.finish(requests), ncclSuccess) << logged_lines();
  }
}

TEST_P(NetThreads, RegistrationBesideTraffic) {
  const ConnectionPair pair = session().establish();
  {
    Buffer source(session(), pair.send, 100000, 1);
    Buffer target(session(), pair.receive, 100000, -1);
    std::atomic<bool> over = false;
    std::atomic<int> registrations = 0;
    std::thread service([&] {
      while (!over) {
        Buffer one(session(), pair.send, 5000);
        Buffer two(session(), pair.receive, 5000);
        int count = 0;
        abi::NetPropertiesV12 properties;
        EXPECT_EQ(net().devices(&count), ncclSuccess);
        EXPECT_EQ(net().properties(0, &properties), ncclSuccess);
        ++registrations;
      }
    });
    transfer(session(), pair, source, target, 200);
    while (registrations < 20) std::this_thread::yield();
    over = true;
    service.join();
    EXPECT_EQ(source.bytes(), target.bytes());
  }
  session().close(pair);
}

TEST_P(NetThreads, ManyCommunicatorsInManyThreads) {
  const int descriptors = open_descriptors();
  std::vector<std::thread> workers;
  for (int worker = 0; worker < 4; ++worker) {
    workers.emplace_back([this, worker] {
      for (int round = 0; round < 3; ++round) {
        Session own(net().version());  // a communicator of its own; before v11 they share one
        const ConnectionPair first = own.establish();
        const ConnectionPair second = own.establish();
        {
          Buffer source(own, first.send, 20000, worker);
          Buffer target(own, first.receive, 20000, -1);
          transfer(own, first, source, target, 10);
          transfer(own, {second.send, second.receive}, source, target, 10);
          EXPECT_EQ(source.bytes(), target.bytes());
        }
        own.close(first);
        own.close(second);
      }
    });
  }
  for (std::thread& worker : workers) worker.join();
  EXPECT_EQ(open_descriptors(), descriptors);
}

SLUICE_INSTANTIATE_NET(NetThreads);

}  // namespace
}  // namespace sluice::test
