// SPDX-License-Identifier: Apache-2.0
// From the text of a setting to its value, by the rules of its parameter; and those rules in words.
// Any thread.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "base/config.h"

namespace sluice {

// The number of a duration that is "off": never.
inline constexpr int64_t kNeverMilliseconds = std::numeric_limits<int64_t>::max();

struct ParameterValue {
  std::string text;    // as it was given; a choice in the table's spelling
  int64_t number = 0;  // flag: 0 or 1; integer; bytes; duration: milliseconds
};

// Nothing when the text is not accepted. An empty text is accepted for texts only.
std::optional<ParameterValue> parse_value(const ParameterInfo& info, std::string_view text);

// "any text", "a whole number from -2 to 16", "auto, tcp or shm", "a time from 10ms to 1h, or off"
std::string accepted_values(const ParameterInfo& info);
// "integer", "bytes", ...
const char* name_of(ParameterType type);

// 65536 -> "64K", 30000 -> "30s": the shortest text that parses to the same number.
std::string bytes_text(int64_t bytes);
std::string duration_text(int64_t milliseconds);

}  // namespace sluice
