// SPDX-License-Identifier: Apache-2.0
// A communicator outlives its aggregation node: through the exported tables, with the module that
// lies beside the plugin.
#include <gtest/gtest.h>
#include <signal.h>

#include <atomic>
#include <cstdlib>
#include <vector>

#include "tests/plugin/captured_log.h"
#include "tests/plugin/collnet_fixture.h"
#include "tests/plugin/node_program.h"
#include "tests/plugin/process_state.h"

namespace sluice::test {
namespace {

class CollNetRecovery : public CollNet {};

TEST_P(CollNetRecovery, OutlivesItsNode) {
  NodeProgram node;
  ASSERT_FALSE(node.address().empty());
  setenv("SLUICE_AGG", node.address().c_str(), 1);
  std::atomic<int> ready = 0;
  const auto results = run(3, 20, [&](Rank& rank, int index) {
    for (int call = 0; call < 40; ++call) {
      std::vector<int32_t> data(call % 2 == 0 ? 100 : 70000, index + call);
      ASSERT_EQ(rank.allreduce(data.data(), data.data(), data.size(), ncclInt32, ncclSum),
                ncclSuccess)
          << logged_lines();
      ASSERT_EQ(data, std::vector<int32_t>(data.size(), 3 + 3 * call)) << "call " << call;
      if (call == 9 && ++ready == 3) node.signal(SIGKILL);
    }
  });
  EXPECT_EQ(results, std::vector<ncclResult_t>(3, ncclSuccess)) << logged_lines();
  EXPECT_EQ(count_logged("3 ranks go on among themselves", NCCL_LOG_WARN), 1) << logged_lines();
}

INSTANTIATE_TEST_SUITE_P(Versions, CollNetRecovery, testing::Values(6, 12));

}  // namespace
}  // namespace sluice::test
