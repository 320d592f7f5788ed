// SPDX-License-Identifier: Apache-2.0
// NCCL unloads the plugin with the last communicator and loads it again with the next: nothing may
// be left.
#include "tests/plugin/captured_log.h"
#include "tests/plugin/net_fixture.h"
#include "tests/plugin/process_state.h"

namespace sluice::test {
namespace {

class Reload : public testing::TestWithParam<int> {};

void load_use_and_unload(int version, bool abandon) {
  Session session(version);
  Handle abandoned;
  if (abandon) {
    session.listen(abandoned);
    void* comm = nullptr;
    EXPECT_EQ(session.net().connect(session.context(), 0, abandoned.data(), &comm), ncclSuccess);
  }
  const ConnectionPair pair = session.establish();
  {
    Buffer source(session, pair.send, 3000, 1);
    Buffer target(session, pair.receive, 3000, -1);
    void* data = target.data();
    void* handle = target.handle();
    int64_t size = 3000;
    int tag = 0;
    std::vector<void*> requests(2);
    EXPECT_EQ(session.net().receive(pair.receive, 1, &data, &size, &tag, &handle, &requests[0]),
              ncclSuccess);
    EXPECT_EQ(session.net().send(pair.send, source.data(), 3000, 0, source.handle(), &requests[1]),
              ncclSuccess);
    EXPECT_EQ(session.finish(requests), ncclSuccess);
    EXPECT_EQ(source.bytes(), target.bytes());
  }
  session.close(pair);
}

TEST_P(Reload, HundredTimesLeavesNothing) {
  const int version = GetParam();
  const int before = threads_at_rest();
  int descriptors = 0;
  long resident = 0;
  constexpr int kRounds = 100;
  constexpr int kWarmUp = 30;
  for (int round = 0; round < kRounds; ++round) {
    forget_log();
    set_environment(round % 2 == 0 ? "tcp" : "shm");
    load_use_and_unload(version, round % 5 == 0);
    ASSERT_FALSE(HasFailure()) << "in round " << round << "\n" << logged_lines();
    ASSERT_EQ(mappings_of("libnccl-net-sluice"), 0) << "still mapped in round " << round;
    ASSERT_EQ(mappings_of("memfd:"), 0) << "shared memory left in round " << round;
    ASSERT_TRUE(wait_for_threads(before)) << "a thread is left in round " << round;
    if (round == 0) descriptors = open_descriptors();
    ASSERT_EQ(open_descriptors(), descriptors) << "in round " << round;
    if (round == kWarmUp) resident = resident_bytes();
  }
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  // Sanitizers keep freed memory; there the leak checker says more.
  EXPECT_LT(resident_bytes() - resident, 512 * 1024);
#else
  static_cast<void>(resident);
#endif
}

INSTANTIATE_TEST_SUITE_P(Versions, Reload,
                         testing::Range(abi::kOldestVersion, abi::kNewestVersion + 1),
                         [](const auto& version) {
                           return std::string("v").append(std::to_string(version.param));
                         });

}  // namespace
}  // namespace sluice::test
