// SPDX-License-Identifier: Apache-2.0
// The `sluice` program as a user sees it: what it prints and how it ends.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdio>
#include <map>
#include <string>

#include <nlohmann/json.hpp>

#include "base/config.h"
#include "base/version.h"

namespace sluice {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

struct Outcome {
  int exit_status = -1;
  std::string text;
};

// `line` is what a user types after "sluice", redirections included; `environment` goes before it.
Outcome run(const std::string& line, const std::string& environment = "") {
  const std::string command = "env -i " + environment + " " SLUICE_TOOL " " + line;
  std::FILE* pipe = ::popen(command.c_str(), "r");
  if (pipe == nullptr) return {};
  Outcome outcome;
  char buffer[4096];
  size_t count = 0;
  while ((count = std::fread(buffer, 1, sizeof buffer, pipe)) > 0) {
    outcome.text.append(buffer, count);
  }
  const int status = ::pclose(pipe);
  if (WIFEXITED(status)) outcome.exit_status = WEXITSTATUS(status);
  return outcome;
}

TEST(SluiceTool, Version) {
  const Outcome outcome = run("version");
  EXPECT_EQ(outcome.exit_status, 0);
  EXPECT_EQ(outcome.text, std::string("sluice ") + kVersion + " (git " + kGitId + ")\n");
}

TEST(SluiceTool, ValuesOfThisEnvironment) {
  const Outcome outcome = run("config", "SLUICE_LANE=3 SLUICE_AGG=node:7654");
  EXPECT_EQ(outcome.exit_status, 0);
  EXPECT_THAT(outcome.text, HasSubstr("SLUICE_AGG                    node:7654\n"));
  for (const ParameterInfo& info : parameter_table()) {
    EXPECT_THAT(outcome.text, HasSubstr(info.name));
  }
}

TEST(SluiceTool, ExplainNamesTheSource) {
  const std::string text = run("config --explain", "SLUICE_LANE=3").text;
  EXPECT_THAT(text, HasSubstr("SLUICE_LANE\n  value     3\n  source    environment\n"));
  EXPECT_THAT(text, HasSubstr("SLUICE_WINDOW\n  value     16\n"));
}

TEST(SluiceTool, JsonForPrograms) {
  const std::string environment = "SLUICE_LANE=3 SLUICE_PEER_TIMEOUT=off SLUICE_CHUNK_SIZE=128K";
  const auto document = nlohmann::json::parse(run("config --json", environment).text);
  ASSERT_EQ(document.at("parameters").size(), parameter_table().size());
  std::map<std::string, nlohmann::json> parameters;
  for (const auto& parameter : document.at("parameters")) {
    parameters[parameter.at("name")] = parameter;
  }
  EXPECT_EQ(parameters["SLUICE_LANE"].at("value"), 3);
  EXPECT_EQ(parameters["SLUICE_LANE"].at("source"), "environment");
  EXPECT_TRUE(parameters["SLUICE_PEER_TIMEOUT"].at("value").is_null());
  EXPECT_EQ(parameters["SLUICE_CHUNK_SIZE"].at("value"), 131072);
  EXPECT_EQ(parameters["SLUICE_CMA"].at("value"), true);
}

TEST(SluiceTool, JsonOfAnyBytes) {
  EXPECT_TRUE(nlohmann::json::accept(run("config --json", "SLUICE_AGG=$(printf '\\377')").text));
}

TEST(SluiceTool, WarningsGoToStandardError) {
  EXPECT_THAT(run("config 2>/dev/null", "SLUICE_LANES=1").text, Not(HasSubstr("SLUICE_LANES")));
  EXPECT_THAT(run("config 2>&1 >/dev/null", "SLUICE_LANES=1").text,
              HasSubstr("sluice: warn: unknown setting SLUICE_LANES"));
}

TEST(SluiceTool, WrongUseIsAnError) {
  for (const char* line : {"", "confg", "config --json --explain", "config --jsn", "version 3"}) {
    EXPECT_EQ(run(std::string(line) + " 2>/dev/null").exit_status, 2) << line;
  }
  EXPECT_EQ(run("config --help").exit_status, 0);
}

TEST(SluiceTool, AFullDiskIsAnError) {
  EXPECT_EQ(run("config >/dev/full 2>/dev/null").exit_status, 1);
}

}  // namespace
}  // namespace sluice
