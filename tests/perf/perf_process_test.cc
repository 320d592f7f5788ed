// SPDX-License-Identifier: Apache-2.0
// The real sluice-perf over the test plugin: results, verdicts, exit codes, and what killed ranks
// leave.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include <nlohmann/json.hpp>

#include "perf/driver/exit_code.h"
#include "perf/driver/stream_socket.h"
#include "tests/perf/program.h"

namespace sluice::perf {
namespace {

using test::Environment;
using test::Outcome;
using test::run_program;
using testing::HasSubstr;
using testing::Not;

std::vector<std::string> command(const std::string& name, const std::vector<std::string>& more) {
  std::vector<std::string> words{SLUICE_PERF, name, "--plugin", SLUICE_RIG, "-n", "4", "-w", "1"};
  if (name != "p2p") words.insert(words.end(), {"--node", "none"});
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

void expect_fine(const Outcome& outcome) {
  EXPECT_EQ(outcome.code, kExitFine) << outcome.output << outcome.errors;
  EXPECT_EQ(outcome.left_behind, 0);
}

class Ranks : public testing::TestWithParam<const char*> {};

TEST_P(Ranks, BothAlgorithmsGiveRightResults) {
  const Outcome outcome = run_program(command(
      "allreduce", {"--ranks", GetParam(), "--algo", "both", "-b", "8", "-e", "300K", "-f", "20"}));
  expect_fine(outcome);
  EXPECT_THAT(outcome.output, HasSubstr("# Out of bounds values : 0 OK"));
  EXPECT_THAT(outcome.output, HasSubstr("# Verdict: in-network is"));
}

INSTANTIATE_TEST_SUITE_P(All, Ranks, testing::Values("2", "3", "5"));

class Versions : public testing::TestWithParam<int> {};

TEST_P(Versions, RunEveryTypeAndOperator) {
  const Outcome outcome = run_program(command(
      "allreduce", {"--ranks", "3", "--algo", "both", "-b", "5000", "-d", "all", "-o", "all",
                    "--in-place", "--receive-hint", "--net-version", std::to_string(GetParam())}));
  expect_fine(outcome);
  EXPECT_THAT(outcome.output, HasSubstr("TESTRIG v" + std::to_string(GetParam())));
}

// v6 and v7 have neither in the network.
TEST_P(Versions, RunGatherAndScatter) {
  for (const char* name : {"allgather", "reducescatter"}) {
    for (const bool in_place : {false, true}) {
      std::vector<std::string> more{"--ranks",
                                    "3",
                                    "-b",
                                    "5000",
                                    "-d",
                                    "all",
                                    "-o",
                                    "all",
                                    "--net-version",
                                    std::to_string(GetParam()),
                                    "--algo",
                                    GetParam() >= 8 ? "both" : "ring"};
      if (in_place) more.emplace_back("--in-place");
      expect_fine(run_program(command(name, more)));
    }
  }
}

TEST_P(Versions, RunPointToPoint) {
  expect_fine(run_program(command("p2p", {"--ranks", "2", "-b", "1", "-e", "100K", "-f", "30",
                                          "--net-version", std::to_string(GetParam())})));
}

INSTANTIATE_TEST_SUITE_P(All, Versions, testing::Range(6, 13));

TEST(Perf, LargeMessagesGoInManySlicesAndCalls) {
  // Above the ring's FIFO and above the test plugin's limit of 4 MiB per collective.
  expect_fine(run_program(command(
      "allreduce", {"--ranks", "3", "--algo", "both", "-b", "17M", "-n", "1", "-d", "bfloat16"})));
}

TEST(Perf, LargeWindowsGoInManyCalls) {
  for (const char* name : {"allgather", "reducescatter"}) {
    expect_fine(run_program(
        command(name, {"--ranks", "3", "--algo", "both", "-b", "13M", "-n", "1", "-d", "half"})));
  }
}

TEST(Perf, WindowsNeedTheirVersion) {
  const Outcome outcome = run_program(command(
      "allgather", {"--ranks", "2", "--algo", "innetwork", "-b", "1K", "--net-version", "7"}));
  EXPECT_EQ(outcome.code, kExitFailed) << outcome.output;
  EXPECT_THAT(outcome.errors, HasSubstr("v7 has no allgather in the network"));
}

TEST(Perf, SeveralNumbersOfRanksAreOneJobEach) {
  const std::string file = testing::TempDir() + "several.json";
  const Outcome outcome = run_program(
      command("allreduce", {"--ranks", "2,3", "--algo", "both", "-b", "1K", "--json", file}));
  expect_fine(outcome);
  EXPECT_THAT(outcome.output, HasSubstr("ranks 2"));
  EXPECT_THAT(outcome.output, HasSubstr("ranks 3"));
  std::ifstream stream(file);
  const auto runs = nlohmann::json::parse(stream).at("runs");
  ASSERT_EQ(runs.size(), 2u);
  EXPECT_EQ(runs[1].at("ranks"), 3);
  EXPECT_EQ(runs[1].at("rows").size(), 2u);
}

TEST(Perf, LatencyIsOneTable) {
  const Outcome outcome = run_program(command("allreduce", {"--latency", "--ranks", "2,5"}));
  expect_fine(outcome);
  EXPECT_THAT(outcome.output, testing::ContainsRegex("\n +2 +8 +float +sum"));
  EXPECT_THAT(outcome.output, testing::ContainsRegex("\n +5 +8 +float +sum"));
  EXPECT_THAT(outcome.output, Not(HasSubstr("# allreduce:"))) << "the jobs' own tables";
}

TEST(Perf, FaultsOfDaemonsNeedADaemon) {
  const Outcome outcome =
      run_program(command("allreduce", {"--ranks", "2", "--algo", "innetwork", "-b", "1K",
                                        "--fault", "leaf0:1s:KILL"}));
  EXPECT_EQ(outcome.code, kExitFailed);
  EXPECT_THAT(outcome.errors, HasSubstr("no such daemon"));
}

TEST(Perf, OddRanksOfPointToPointStayOut) {
  const Outcome outcome =
      run_program(command("p2p", {"--ranks", "5", "-b", "4K", "--bidirectional"}));
  expect_fine(outcome);
}

TEST(Perf, CountsWhatTheRingSends) {
  const std::string file = testing::TempDir() + "ring-bytes.json";
  expect_fine(run_program(
      command("allreduce", {"--ranks", "4", "--algo", "both", "-b", "64K", "--json", file})));
  std::ifstream stream(file);
  const auto rows = nlohmann::json::parse(stream).at("rows");
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].at("algo"), "ring");
  EXPECT_EQ(rows[0].at("wire_bytes_per_rank"), 2 * 3 * 65536 / 4);
  EXPECT_EQ(rows[1].at("algo"), "innetwork");
  EXPECT_EQ(rows[1].at("wire_bytes_per_rank"), 65536);
}

TEST(Perf, ComparesTwoPlugins) {
  const Outcome outcome = run_program(command(
      "allreduce", {"--ranks", "2", "-b", "4K", "--compare", SLUICE_RIG_V8, "--net-version", "8"}));
  expect_fine(outcome);
  EXPECT_THAT(outcome.output, HasSubstr("# Plugin 1 against plugin 0"));
}

TEST(Perf, FindsCorruptedResults) {
  for (const char* name : {"allreduce", "allgather", "reducescatter"}) {
    for (const char* algorithm : {"ring", "innetwork"}) {
      const Outcome outcome = run_program(
          command(name, {"--ranks", "3", "--algo", algorithm, "-b", "64K", "-d", "int32"}),
          {{"TEST_PLUGIN_CORRUPT", "1"}});
      EXPECT_EQ(outcome.code, kExitWrong) << outcome.output << outcome.errors;
      EXPECT_THAT(outcome.output, HasSubstr("FAILED"));
    }
  }
  const Outcome p2p =
      run_program(command("p2p", {"--ranks", "2", "-b", "1K"}), {{"TEST_PLUGIN_CORRUPT", "1"}});
  EXPECT_EQ(p2p.code, kExitWrong) << p2p.output << p2p.errors;
}

TEST(Perf, RanksOfALauncherFindEachOther) {
  int port = 0;
  { const auto probe = listen_on({"127.0.0.1", "0"}, &port); }  // free again right away
  const std::string root = "127.0.0.1:" + std::to_string(port);
  std::vector<Environment> environments;
  for (const char* rank : {"0", "1", "2"}) {
    environments.push_back({{"RANK", rank}, {"WORLD_SIZE", "3"}, {"SLUICE_PERF_ROOT", root}});
  }
  const std::vector<std::vector<std::string>> commands(3, command("allreduce", {"-b", "1K"}));
  const std::vector<Outcome> outcomes = test::run_programs(commands, environments);
  for (const Outcome& outcome : outcomes) expect_fine(outcome);
  EXPECT_THAT(outcomes[0].output, HasSubstr("ranks 3"));
  EXPECT_EQ(outcomes[1].output, "") << "only rank 0 prints";
}

struct Unusable {
  const char* name;
  const char* plugin;
  Environment environment;
  const char* sentence;
};

class UnusablePlugins : public testing::TestWithParam<Unusable> {};

TEST_P(UnusablePlugins, AreRefusedWithOneSentence) {
  const Outcome outcome = run_program({SLUICE_PERF, "allreduce", "--ranks", "3", "-b", "8",
                                       "--net-version", "12", "--plugin", GetParam().plugin},
                                      GetParam().environment);
  EXPECT_EQ(outcome.code, kExitUsage) << outcome.errors;
  EXPECT_THAT(outcome.errors, HasSubstr(GetParam().sentence));
  EXPECT_EQ(std::count(outcome.errors.begin(), outcome.errors.end(), '\n'), 1) << outcome.errors;
  EXPECT_EQ(outcome.left_behind, 0);
}

INSTANTIATE_TEST_SUITE_P(
    All, UnusablePlugins,
    testing::Values(
        Unusable{"Missing", "/nonexistent/plugin.so", {}, "no such file"},
        Unusable{"NoPlugin", SLUICE_RIG_NONE, {}, "is no net plugin"},
        Unusable{"NoLibrary", SLUICE_RIG_SOURCE, {}, "cannot be loaded"},
        Unusable{"OtherVersion", SLUICE_RIG_V8, {}, "lacks net plugin version 12; it has v8"},
        Unusable{"NoDevice", SLUICE_RIG, {{"TEST_PLUGIN_DEVICES", "0"}}, "has no net device"},
        Unusable{"InitFails", SLUICE_RIG, {{"TEST_PLUGIN_INIT_FAILS", "1"}}, "net init failed"}),
    [](const auto& tested) { return tested.param.name; });

TEST(Perf, APluginThatHangsEndsInASentence) {
  const Outcome outcome =
      run_program(command("allreduce", {"--ranks", "2", "-b", "1K", "--timeout", "1"}),
                  {{"TEST_PLUGIN_HANG", "1"}});
  EXPECT_EQ(outcome.code, kExitFailed);
  EXPECT_THAT(outcome.errors, HasSubstr("does not return"));
  EXPECT_EQ(outcome.left_behind, 0);
}

struct Fault {
  const char* stage;
  const char* signal;
};

class Faults : public testing::TestWithParam<Fault> {};

TEST_P(Faults, EndTheOthersInTimeAndLeaveNothing) {
  const auto [stage, signal] = GetParam();
  const std::string algorithm = std::string(stage) == "iallreduce" ? "innetwork" : "ring";
  const Outcome outcome = run_program(command(
      "allreduce", {"--ranks", "4", "--algo", algorithm, "-b", "64K", "-n", "200", "--timeout", "2",
                    "--fault", std::string("2:") + stage + ":" + signal}));
  EXPECT_EQ(outcome.code, kExitFailed) << outcome.output << outcome.errors;
  for (const char* rank : {"rank 0: ", "rank 1: ", "rank 3: "}) {
    EXPECT_THAT(outcome.errors, HasSubstr(rank)) << "every survivor says why it ends";
  }
  EXPECT_THAT(outcome.errors, HasSubstr(std::string(signal) == "KILL" ? "rank 2 killed by signal 9"
                                                                      : "rank 2 is stopped"));
  EXPECT_THAT(outcome.errors, Not(HasSubstr("does not end"))) << "survivors end by themselves";
  EXPECT_LT(outcome.seconds, 30);
  EXPECT_EQ(outcome.left_behind, 0);
}

INSTANTIATE_TEST_SUITE_P(
    All, Faults,
    testing::Values(Fault{"listen", "KILL"}, Fault{"connect", "KILL"}, Fault{"accept", "KILL"},
                    Fault{"isend", "KILL"}, Fault{"test", "KILL"}, Fault{"iallreduce", "KILL"},
                    Fault{"listen", "STOP"}, Fault{"connect", "STOP"}, Fault{"accept", "STOP"},
                    Fault{"isend", "STOP"}, Fault{"test", "STOP"}, Fault{"iallreduce", "STOP"}),
    [](const auto& tested) { return std::string(tested.param.stage) + tested.param.signal; });

TEST(Perf, NothingOutlivesTheLauncher) {
  const Outcome outcome = run_program({"/bin/sh", "-c",
                                       std::string("\"") + SLUICE_PERF +
                                           "\" allreduce --ranks 3 --plugin \"" + SLUICE_RIG +
                                           "\" -b 64K -n 100000000 & p=$!; sleep 1; kill -9 $p; "
                                           "wait $p; exit 0"});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(outcome.left_behind, 0);
}

}  // namespace
}  // namespace sluice::perf
