// SPDX-License-Identifier: Apache-2.0
#include "base/config_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cerrno>

#include "tests/base/scratch_folder.h"

namespace sluice {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(ConfigFile, NamesAndValues) {
  const ConfigFile file = parse_config_file("A=1\n  B = two words \r\n\n# C=3\n\t# D=4\nE=x=y\nF=");
  ASSERT_EQ(file.settings.size(), 4U);
  EXPECT_EQ(file.find("A")->value, "1");
  EXPECT_EQ(file.find("B")->value, "two words");
  EXPECT_EQ(file.find("B")->line, 2);
  EXPECT_EQ(file.find("E")->value, "x=y");
  EXPECT_EQ(file.find("E")->line, 6);
  EXPECT_EQ(file.find("F")->value, "");
  EXPECT_EQ(file.find("C"), nullptr);
  EXPECT_THAT(file.unreadable_lines, IsEmpty());
}

TEST(ConfigFile, TheFirstLineOfANameWins) {
  EXPECT_EQ(parse_config_file("A=1\nA=2\n").find("A")->value, "1");
}

TEST(ConfigFile, ACommentStartsALineOnly) {
  EXPECT_EQ(parse_config_file("A=1 # one\n").find("A")->value, "1 # one");
}

TEST(ConfigFile, OtherLinesAreCounted) {
  EXPECT_THAT(parse_config_file("A\n=1\nB=2\n \nexport\n").unreadable_lines, ElementsAre(1, 2, 5));
  EXPECT_THAT(parse_config_file("").settings, IsEmpty());
}

TEST(ReadConfigFile, SaysWhyNot) {
  const test::ScratchFolder folder;
  EXPECT_EQ(read_config_file(folder.path() + "/absent").error().system_errno, ENOENT);
  EXPECT_EQ(read_config_file(folder.path()).error().system_errno, EISDIR);
  const std::string binary = folder.file("binary", std::string("A=1\n\0B=2", 8));
  EXPECT_EQ(read_config_file(binary).error().kind, ErrorKind::invalid_usage);
  const std::string huge = folder.file("huge", std::string((1 << 20) + 5000, 'x'));
  EXPECT_EQ(read_config_file(huge).error().kind, ErrorKind::invalid_usage);
}

TEST(ReadConfigFile, AFifoDoesNotBlock) {
  const test::ScratchFolder folder;
  const std::string fifo = folder.path() + "/fifo";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  const Result<ConfigFile> file = read_config_file(fifo);
  ASSERT_TRUE(file.has_value()) << file.error().message;
  EXPECT_THAT(file->settings, IsEmpty());
}

TEST(ReadConfigFile, ReadsAll) {
  const test::ScratchFolder folder;
  std::string text;
  for (int i = 0; i < 2000; ++i) text += "NAME_" + std::to_string(i) + "=value\n";
  const Result<ConfigFile> file = read_config_file(folder.file("long", text));
  ASSERT_TRUE(file.has_value());
  EXPECT_EQ(file->settings.size(), 2000U);
}

}  // namespace
}  // namespace sluice
