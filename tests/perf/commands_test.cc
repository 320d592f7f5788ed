// SPDX-License-Identifier: Apache-2.0
// sluice-perf's arguments and its JSON file.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <fstream>

#include <nlohmann/json.hpp>

#include "perf/driver/exit_code.h"
#include "perf/sluice-perf/options.h"
#include "perf/sluice-perf/report.h"

namespace sluice::perf {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::UnorderedElementsAre;

std::variant<Options, EndNow> parse(std::vector<const char*> words) {
  words.insert(words.begin(), "sluice-perf");
  return parse_options(static_cast<int>(words.size()), words.data());
}

Options must_parse(std::vector<const char*> words) {
  auto parsed = parse(std::move(words));
  const auto* end = std::get_if<EndNow>(&parsed);
  EXPECT_EQ(end, nullptr) << end->text;
  return end == nullptr ? std::get<Options>(std::move(parsed)) : Options();
}

TEST(Options, SizesByFactorAndByStep) {
  EXPECT_THAT(must_parse({"allreduce", "-b", "8", "-e", "1K", "-f", "4"}).sizes(),
              ElementsAre(8, 32, 128, 512));
  EXPECT_THAT(must_parse({"allreduce", "-b", "1K", "-e", "3K", "-i", "1K"}).sizes(),
              ElementsAre(1024, 2048, 3072));
  EXPECT_THAT(must_parse({"p2p", "-b", "16M"}).sizes(), ElementsAre(16 << 20));
}

TEST(Options, ListsOfTypesAndOperators) {
  const Options options = must_parse({"allreduce", "-d", "bfloat16,half", "-o", "all"});
  ASSERT_EQ(options.types.size(), 2u);
  EXPECT_EQ(options.types[0].type, ncclBfloat16);
  EXPECT_EQ(options.operators.size(), 4u);
  EXPECT_EQ(must_parse({"allreduce", "-d", "all"}).types.size(), 12u);
}

TEST(Options, AlgorithmsAndFlags) {
  const Options both = must_parse({"allreduce", "--algo", "both", "--in-place", "-c", "0"});
  EXPECT_TRUE(both.ring && both.in_network && both.in_place);
  EXPECT_FALSE(both.check);
  EXPECT_FALSE(must_parse({"allreduce"}).in_network);
  EXPECT_FALSE(must_parse({"allreduce", "--algo", "innetwork"}).ring);
}

TEST(Options, CollectivesRanksAndTrees) {
  EXPECT_EQ(must_parse({"allgather"}).collective, Collective::allgather);
  const Options options =
      must_parse({"reducescatter", "--ranks", "2,3,16", "--tree", "2x3", "--precision", "exact"});
  EXPECT_EQ(options.collective, Collective::reduce_scatter);
  EXPECT_STREQ(options.command(), "reducescatter");
  EXPECT_THAT(options.rank_counts, ElementsAre(2, 3, 16));
  EXPECT_THAT(options.tree.fan_out, ElementsAre(2, 3));
  EXPECT_EQ(options.tree.levels(), 3);
  EXPECT_TRUE(options.exact);
  EXPECT_STREQ(must_parse({"p2p"}).command(), "p2p");
  EXPECT_EQ(must_parse({"allreduce"}).tree.levels(), 1);
}

TEST(Options, LatencyIsAPreset) {
  const Options options = must_parse({"allreduce", "--latency"});
  EXPECT_TRUE(options.ring && options.in_network);
  EXPECT_THAT(options.sizes(), ElementsAre(8));
  EXPECT_THAT(options.rank_counts, ElementsAre(2, 4, 8, 16, 32));
  EXPECT_THAT(must_parse({"allreduce", "--latency", "--ranks", "3"}).rank_counts, ElementsAre(3));
}

TEST(Options, FaultsOfRanksAndOfDaemons) {
  const Options options =
      must_parse({"allreduce", "--ranks", "4", "--algo", "innetwork", "--tree", "2", "--fault",
                  "leaf0:2s:KILL", "--fault", "manager:500ms:STOP", "--restart-after", "1s"});
  ASSERT_EQ(options.node_faults.size(), 2u);
  EXPECT_EQ(options.node_faults[0].target, "leaf0");
  EXPECT_EQ(options.node_faults[0].after, std::chrono::seconds(2));
  EXPECT_EQ(options.node_faults[0].signal, SIGKILL);
  EXPECT_EQ(options.node_faults[1].after, std::chrono::milliseconds(500));
  EXPECT_EQ(options.restart_after, std::chrono::seconds(1));
}

TEST(Options, BadWordsEndWithASentence) {
  const std::vector<std::vector<const char*>> bad = {
      {},
      {"broadcast"},
      {"allreduce", "-d", "quad"},
      {"allreduce", "-o", "xor"},
      {"allreduce", "-b", "12Q"},
      {"allreduce", "-b", "0"},
      {"allreduce", "-b", "1M", "-e", "1K"},
      {"allreduce", "--ranks", "65"},
      {"allreduce", "--ranks", "1"},
      {"allreduce", "--ranks", "2,"},
      {"allreduce", "--ranks", "2,x"},
      {"allreduce", "--tree", "0"},
      {"allreduce", "--tree", "2x"},
      {"allreduce", "--tree", "64x64"},
      {"allreduce", "--precision", "some"},
      {"allreduce", "--restart-after", "1"},
      {"allreduce", "--fault", "leaf0:2:KILL"},
      {"allreduce", "--fault", "leaf0:2s:NONE"},
      {"allreduce", "--ranks", "2", "--fault", "leaf0:2s:KILL"},
      {"allgather", "--latency"},
      {"allreduce", "--net-version", "5"},
      {"allreduce", "--algo", "tree"},
      {"allreduce", "--fault", "1:never:KILL"},
      {"p2p", "--algo", "ring"}};
  for (const auto& words : bad) {
    const auto parsed = parse(words);
    ASSERT_TRUE(std::holds_alternative<EndNow>(parsed)) << (words.empty() ? "" : words.back());
    EXPECT_EQ(std::get<EndNow>(parsed).code, kExitUsage);
    EXPECT_FALSE(std::get<EndNow>(parsed).text.empty());
  }
}

TEST(Options, HelpEndsWell) {
  const auto parsed = parse({"allreduce", "--help"});
  ASSERT_TRUE(std::holds_alternative<EndNow>(parsed));
  EXPECT_EQ(std::get<EndNow>(parsed).code, kExitFine);
  EXPECT_THAT(std::get<EndNow>(parsed).text, HasSubstr("--minbytes"));
}

TEST(Options, Bytes) {
  EXPECT_EQ(*parse_bytes("64K"), 65536u);
  EXPECT_EQ(*parse_bytes("2GB"), size_t{2} << 30);
  for (const char* bad : {"", "K", "-1", "1.5M", "4T", "99999999999G"}) {
    EXPECT_FALSE(parse_bytes(bad)) << bad;
  }
}

TEST(Report, JsonHasExactlyTheAgreedKeys) {
  Options options;
  options.json = testing::TempDir() + "report-keys.json";
  Report report(options, {3, {"a.so"}}, true);
  testing::internal::CaptureStdout();
  Row row;
  row.algorithm = "ring";
  row.bytes = 4096;
  row.type = "float";
  row.op = "sum";
  row.time_us = 12.5;
  row.wire_bytes = 5461;
  row.checked = true;
  row.wrong = 2;
  report.add(row);
  ASSERT_TRUE(report.write_json());
  const std::string text = testing::internal::GetCapturedStdout();
  EXPECT_THAT(text, HasSubstr("5461"));

  std::ifstream file(options.json);
  const auto document = nlohmann::json::parse(file);
  const auto& entry = document.at("rows").at(0);
  std::vector<std::string> keys;
  for (const auto& [key, value] : entry.items()) keys.push_back(key);
  EXPECT_THAT(keys,
              UnorderedElementsAre("algo", "bytes", "type", "op", "ranks", "time_us", "algbw_GBps",
                                   "busbw_GBps", "wrong", "wire_bytes_per_rank"));
  EXPECT_EQ(entry.at("ranks"), 3);
  EXPECT_EQ(entry.at("wrong"), 2);
  EXPECT_EQ(report.wrong(), 2u);
  EXPECT_EQ(entry.at("wire_bytes_per_rank"), 5461);
}

TEST(Report, SaysWhenTheFileCannotBeWritten) {
  Options options;
  options.json = "/nonexistent/folder/file.json";
  Report report(options, {2, {"a.so"}}, true);
  EXPECT_FALSE(report.write_json());
}

TEST(Report, Median) {
  EXPECT_EQ(median_of({3, 1, 2}), 2);
  EXPECT_EQ(median_of({4, 1, 2, 3}), 2.5);
}

}  // namespace
}  // namespace sluice::perf
