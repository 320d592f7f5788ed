// SPDX-License-Identifier: Apache-2.0
#include "base/log.h"

#include <gtest/gtest.h>

#include <string>

#include "base/text.h"
#include "tests/base/recording_logger.h"

namespace sluice {
namespace {

TEST(Logger, HandsLinesToItsSink) {
  test::RecordingLogger log;
  SLUICE_WARN(log.logger(), net, "lost %d of %s", 3, "many");
  SLUICE_INFO(log.logger(), init, "fine");
  ASSERT_EQ(log.lines().size(), 2U);
  EXPECT_EQ(log.lines()[0].level, LogLevel::warn);
  EXPECT_EQ(log.lines()[0].subsystem, LogSubsystem::net);
  EXPECT_EQ(log.lines()[0].text, "lost 3 of many");
  EXPECT_EQ(log.lines()[1].level, LogLevel::info);
}

TEST(Logger, CutsLongLines) {
  test::RecordingLogger log;
  SLUICE_WARN(log.logger(), net, "%s", std::string(5000, 'x').c_str());
  ASSERT_EQ(log.lines().size(), 1U);
  EXPECT_EQ(log.lines()[0].text, std::string(1023, 'x'));
}

TEST(Logger, WithoutASinkSaysNothing) {
  SLUICE_WARN(Logger(), net, "into the void");
}

TEST(Logger, StderrShowsLevelsUpToItsOwn) {
  ::testing::internal::CaptureStderr();
  const Logger quiet = Logger::to_stderr("quiet", LogLevel::warn);
  SLUICE_WARN(quiet, net, "one");
  SLUICE_INFO(quiet, net, "two");
  const Logger chatty = Logger::to_stderr("chatty", LogLevel::trace);
  SLUICE_LOG(chatty, LogLevel::trace, LogSubsystem::net, "three");
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "quiet: warn: one\nchatty: trace: three\n");
}

TEST(LogLimiter, AllowsAFewAndCountsTheRest) {
  LogLimiter limiter(2);
  EXPECT_TRUE(limiter.allow());
  EXPECT_TRUE(limiter.allow());
  EXPECT_EQ(limiter.swallowed(), 0U);
  EXPECT_FALSE(limiter.allow());
  EXPECT_FALSE(limiter.allow());
  EXPECT_EQ(limiter.swallowed(), 2U);
}

TEST(Printable, KeepsALogLineALine) {
  EXPECT_EQ(printable("plain text"), "plain text");
  EXPECT_EQ(printable("a\nb\x1b[31m\x7f"), "a?b?[31m?");
  EXPECT_EQ(printable("abcdef", 3), "abc...");
}

}  // namespace
}  // namespace sluice
