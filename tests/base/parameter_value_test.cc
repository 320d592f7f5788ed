// SPDX-License-Identifier: Apache-2.0
#include "base/parameter_value.h"

#include <gtest/gtest.h>

namespace sluice {
namespace {

ParameterInfo info(ParameterType type, int64_t minimum, int64_t maximum, const char* choices = "") {
  return {Parameter::count_, "TEST", type, "", minimum, maximum, choices, ""};
}

struct Accepted {
  const char* text;
  int64_t number;
};

void expect(const ParameterInfo& info, std::initializer_list<Accepted> accepted,
            std::initializer_list<const char*> rejected) {
  for (const auto& [text, number] : accepted) {
    const auto value = parse_value(info, text);
    ASSERT_TRUE(value.has_value()) << text;
    EXPECT_EQ(value->number, number) << text;
  }
  for (const char* text : rejected) EXPECT_FALSE(parse_value(info, text).has_value()) << text;
}

TEST(ParameterValue, Integers) {
  expect(info(ParameterType::integer, -2, 64),
         {{"-2", -2}, {"0", 0}, {"64", 64}, {" 7 ", 7}, {"0x10", 16}, {"007", 7}},
         {"-3", "65", "", "-", "--1", "4x", "4 4", "1.5", "0x", "0x-1", "+1",
          "99999999999999999999", "K"});
}

TEST(ParameterValue, Flags) {
  expect(info(ParameterType::flag, 0, 1),
         {{"0", 0}, {"1", 1}, {"yes", 1}, {"No", 0}, {"TRUE", 1}, {"off", 0}},
         {"", "2", "-1", "y"});
}

TEST(ParameterValue, Bytes) {
  expect(info(ParameterType::bytes, 1, 1LL << 32),
         {{"1", 1},
          {"64K", 65536},
          {"64k", 65536},
          {"64KiB", 65536},
          {"1M", 1 << 20},
          {"1MB", 1 << 20},
          {"4G", 1LL << 32},
          {"0x100", 256}},
         {"0", "5G", "64 K", "64Q", "K", "-1K", "1.5M", "9223372036854775807G"});
}

TEST(ParameterValue, Durations) {
  expect(info(ParameterType::duration, 100, 3600 * 1000, "off"),
         {{"30", 30000},
          {"30s", 30000},
          {"500ms", 500},
          {"2m", 120000},
          {"1h", 3600000},
          {"off", kNeverMilliseconds},
          {"OFF", kNeverMilliseconds}},
         {"0", "99ms", "2h", "soon", "", "1d", "-1"});
  expect(info(ParameterType::duration, 100, 1000), {{"1", 1000}}, {"off"});
}

TEST(ParameterValue, Choices) {
  const ParameterInfo choice = info(ParameterType::choice, 0, 0, "auto,tcp,shm");
  EXPECT_EQ(parse_value(choice, "tcp")->text, "tcp");
  EXPECT_EQ(parse_value(choice, "SHM")->text, "shm");
  for (const char* text : {"", "tc", "tcp,shm", "verbs"}) {
    EXPECT_FALSE(parse_value(choice, text).has_value()) << text;
  }
}

TEST(ParameterValue, TextsAreTakenAsTheyAre) {
  EXPECT_EQ(parse_value(info(ParameterType::text, 0, 0), " ^docker0 ")->text, " ^docker0 ");
}

TEST(ParameterValue, RulesInWords) {
  EXPECT_EQ(accepted_values(info(ParameterType::integer, -2, 16)), "a whole number from -2 to 16");
  EXPECT_EQ(accepted_values(info(ParameterType::choice, 0, 0, "auto,tcp,shm")), "auto, tcp or shm");
  EXPECT_EQ(accepted_values(info(ParameterType::bytes, 0, 4096)), "bytes from 0 to 4K");
  EXPECT_EQ(accepted_values(info(ParameterType::duration, 100, 3600000, "off")),
            "a time from 100ms to 1h, or off");
}

TEST(ParameterValue, ShortTexts) {
  EXPECT_EQ(bytes_text(0), "0");
  EXPECT_EQ(bytes_text(1000), "1000");
  EXPECT_EQ(bytes_text(65536), "64K");
  EXPECT_EQ(bytes_text(1LL << 31), "2G");
  EXPECT_EQ(duration_text(1), "1ms");
  EXPECT_EQ(duration_text(1500), "1500ms");
  EXPECT_EQ(duration_text(90 * 1000), "90s");
  EXPECT_EQ(duration_text(kNeverMilliseconds), "off");
}

}  // namespace
}  // namespace sluice
