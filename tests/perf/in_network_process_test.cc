// SPDX-License-Identifier: Apache-2.0
// The real sluice-perf over the real plugin and real nodes: every type and operator, trees, both
// precision modes, and what is left of a run whose node dies.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include <nlohmann/json.hpp>

#include "perf/driver/exit_code.h"
#include "tests/perf/program.h"

namespace sluice::perf {
namespace {

using test::Outcome;
using test::run_program;
using testing::HasSubstr;

Outcome perf(const std::string& name, const std::vector<std::string>& more) {
  std::vector<std::string> words{SLUICE_PERF, name, "--plugin", SLUICE_PLUGIN, "--node",
                                 SLUICE_AGG,  "-n", "2",        "-w",          "0"};
  words.insert(words.end(), more.begin(), more.end());
  return run_program(words, {{"NCCL_SOCKET_IFNAME", "lo"}});
}

void expect_right(const Outcome& outcome) {
  EXPECT_EQ(outcome.code, kExitFine) << outcome.output << outcome.errors;
  EXPECT_EQ(outcome.left_behind, 0);
}

class Collectives : public testing::TestWithParam<const char*> {};

TEST_P(Collectives, EveryTypeAndOperatorIsRightOnManyRanks) {
  expect_right(perf(GetParam(), {"--ranks", "2,3,5,8,16", "--algo", "both", "-b", "400", "-d",
                                 "all", "-o", "all"}));
}

TEST_P(Collectives, EveryTypeAndOperatorIsRightInChunksAndInPlace) {
  expect_right(perf(GetParam(), {"--ranks", "3", "--algo", "innetwork", "-b", "200000", "-d", "all",
                                 "-o", "all", "--in-place"}));
}

TEST_P(Collectives, EveryTypeAndOperatorIsRightInTrees) {
  for (const char* precision : {"compact", "exact"}) {
    for (const char* tree : {"2", "2x2"}) {
      SCOPED_TRACE(std::string(precision) + ' ' + tree);
      expect_right(perf(
          GetParam(), {"--ranks", "5", "--algo", "innetwork", "-b", "1000", "-e", "100000", "-f",
                       "100", "-d", "all", "-o", "all", "--tree", tree, "--precision", precision}));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, Collectives,
                         testing::Values("allreduce", "allgather", "reducescatter"),
                         [](const auto& tested) { return std::string(tested.param); });

TEST(Survival, ALeafDiesAndNothingIsWrong) {
  const std::string file = testing::TempDir() + "survival.json";
  expect_right(perf("allreduce", {"--ranks", "4", "--algo", "innetwork", "-b", "256K", "--tree",
                                  "2", "--fault", "leaf0:500ms:KILL", "--json", file}));
  std::ifstream stream(file);
  const auto document = nlohmann::json::parse(stream);
  EXPECT_EQ(document.at("wrong"), 0);
  ASSERT_EQ(document.at("faults").size(), 1u);
  EXPECT_GE(document.at("faults")[0].at("struck_s"), 0.5);
  EXPECT_GT(document.at("faults")[0].at("gap_ms"), 0);
}

}  // namespace
}  // namespace sluice::perf
