// SPDX-License-Identifier: Apache-2.0
#include "base/parameter_value.h"

#include <strings.h>

#include <array>
#include <charconv>
#include <span>
#include <vector>

#include "base/text.h"

namespace sluice {
namespace {

struct Unit {
  const char* name;
  int64_t factor;
};

// From small to large.
constexpr std::array<Unit, 9> kByteUnits = {{{"", 1},
                                             {"K", 1LL << 10},
                                             {"KB", 1LL << 10},
                                             {"KiB", 1LL << 10},
                                             {"M", 1LL << 20},
                                             {"MB", 1LL << 20},
                                             {"MiB", 1LL << 20},
                                             {"G", 1LL << 30},
                                             {"GiB", 1LL << 30}}};
// A bare number is seconds, as in the timeouts of NCCL's own documentation.
constexpr std::array<Unit, 5> kTimeUnits = {
    {{"", 1000}, {"ms", 1}, {"s", 1000}, {"m", 60'000}, {"h", 3'600'000}}};

bool same_word(std::string_view left, std::string_view right) {
  return left.size() == right.size() && ::strncasecmp(left.data(), right.data(), left.size()) == 0;
}

// Decimal, or hexadecimal after 0x; `rest` is what follows the digits.
std::optional<int64_t> parse_digits(std::string_view text, std::string_view& rest) {
  const bool negative = !text.empty() && text.front() == '-';
  if (negative) text.remove_prefix(1);
  const bool hexadecimal = text.size() > 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
  if (hexadecimal) text.remove_prefix(2);
  // from_chars would take a second sign.
  if (text.empty() || text.front() == '-') return std::nullopt;
  int64_t number = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number, hexadecimal ? 16 : 10);
  if (error != std::errc()) return std::nullopt;
  rest = std::string_view(stop, static_cast<size_t>(end - stop));
  return negative ? -number : number;
}

std::optional<int64_t> parse_with_unit(std::string_view text, std::span<const Unit> units) {
  std::string_view rest;
  const std::optional<int64_t> number = parse_digits(text, rest);
  if (!number) return std::nullopt;
  for (const Unit& unit : units) {
    int64_t product = 0;
    if (same_word(rest, unit.name) && !__builtin_mul_overflow(*number, unit.factor, &product)) {
      return product;
    }
  }
  return std::nullopt;
}

std::optional<int64_t> parse_flag(std::string_view text) {
  for (const char* word : {"1", "yes", "true", "on"}) {
    if (same_word(text, word)) return 1;
  }
  for (const char* word : {"0", "no", "false", "off"}) {
    if (same_word(text, word)) return 0;
  }
  return std::nullopt;
}

std::vector<std::string_view> choices_of(const ParameterInfo& info) {
  std::vector<std::string_view> choices;
  std::string_view list = info.choices;
  while (!list.empty()) {
    const size_t comma = list.find(',');
    choices.push_back(list.substr(0, comma));
    list.remove_prefix(comma == std::string_view::npos ? list.size() : comma + 1);
  }
  return choices;
}

bool accepts_off(const ParameterInfo& info) {
  return same_word(info.choices, "off");
}

std::optional<ParameterValue> in_range(const ParameterInfo& info, std::string_view text,
                                       std::optional<int64_t> number) {
  if (!number || *number < info.minimum || *number > info.maximum) return std::nullopt;
  return ParameterValue{std::string(text), *number};
}

std::string with_unit(int64_t number, std::span<const Unit> units) {
  if (number == 0) return std::string("0") + units.front().name;
  // The first of equal factors: "64K", not "64KiB".
  const Unit* best = &units.front();
  for (const Unit& unit : units) {
    if (number % unit.factor == 0 && unit.factor > best->factor) best = &unit;
  }
  return std::to_string(number / best->factor) + best->name;
}

std::string range_text(const char* what, const std::string& minimum, const std::string& maximum) {
  return std::string(what) + " from " + minimum + " to " + maximum;
}

}  // namespace

std::optional<ParameterValue> parse_value(const ParameterInfo& info, std::string_view text) {
  if (info.type != ParameterType::text) text = without_blanks(text);
  switch (info.type) {
    case ParameterType::text:
      return ParameterValue{std::string(text), 0};
    case ParameterType::choice:
      for (const std::string_view choice : choices_of(info)) {
        if (same_word(text, choice)) return ParameterValue{std::string(choice), 0};
      }
      return std::nullopt;
    case ParameterType::flag:
      return in_range(info, text, parse_flag(text));
    case ParameterType::integer: {
      std::string_view rest;
      const std::optional<int64_t> number = parse_digits(text, rest);
      return rest.empty() ? in_range(info, text, number) : std::nullopt;
    }
    case ParameterType::bytes:
      return in_range(info, text, parse_with_unit(text, kByteUnits));
    case ParameterType::duration:
      if (accepts_off(info) && same_word(text, "off")) {
        return ParameterValue{"off", kNeverMilliseconds};
      }
      return in_range(info, text, parse_with_unit(text, kTimeUnits));
  }
  return std::nullopt;
}

std::string bytes_text(int64_t bytes) {
  return with_unit(bytes, kByteUnits);
}

std::string duration_text(int64_t milliseconds) {
  if (milliseconds == kNeverMilliseconds) return "off";
  // Without the bare number: "30s" says more than "30".
  return with_unit(milliseconds, std::span(kTimeUnits).subspan(1));
}

std::string accepted_values(const ParameterInfo& info) {
  switch (info.type) {
    case ParameterType::text:
      return "any text";
    case ParameterType::choice: {
      const std::vector<std::string_view> choices = choices_of(info);
      std::string text;
      for (size_t i = 0; i < choices.size(); ++i) {
        if (i > 0) text += i + 1 == choices.size() ? " or " : ", ";
        text += choices[i];
      }
      return text;
    }
    case ParameterType::flag:
      return "0 or 1";
    case ParameterType::integer:
      return range_text("a whole number", std::to_string(info.minimum),
                        std::to_string(info.maximum));
    case ParameterType::bytes:
      return range_text("bytes", bytes_text(info.minimum), bytes_text(info.maximum));
    case ParameterType::duration:
      return range_text("a time", duration_text(info.minimum), duration_text(info.maximum)) +
             (accepts_off(info) ? ", or off" : "");
  }
  return "";
}

const char* name_of(ParameterType type) {
  switch (type) {
    case ParameterType::text:
      return "text";
    case ParameterType::choice:
      return "choice";
    case ParameterType::flag:
      return "flag";
    case ParameterType::integer:
      return "integer";
    case ParameterType::bytes:
      return "bytes";
    case ParameterType::duration:
      return "duration";
  }
  return "?";
}

}  // namespace sluice
