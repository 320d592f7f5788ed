// SPDX-License-Identifier: Apache-2.0
#include "sharp/manager/core/quantity.h"

#include <charconv>
#include <span>

namespace sluice::manager {

namespace {

struct Unit {
  std::string_view name;
  double factor;
};
constexpr Unit kByteUnits[] = {{"", 1},
                               {"KiB", 1024.0},
                               {"MiB", 1024.0 * 1024},
                               {"GiB", 1024.0 * 1024 * 1024},
                               {"TiB", 1024.0 * 1024 * 1024 * 1024}};
constexpr Unit kRateUnits[] = {
    {"", 1}, {"Mbit", 1e6 / 8}, {"Gbit", 1e9 / 8}, {"Tbit", 1e12 / 8}, {"MB", 1e6}, {"GB", 1e9}};
constexpr double kMost = 1e18;

std::optional<uint64_t> parse_quantity(std::string_view text, std::span<const Unit> units) {
  double number = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
  if (error != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  if (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  for (const Unit& unit : units) {
    if (text != unit.name) continue;
    const double value = number * unit.factor;
    if (!(value >= 0 && value <= kMost)) return std::nullopt;
    return static_cast<uint64_t>(value);
  }
  return std::nullopt;
}

}  // namespace

std::optional<uint64_t> parse_bytes(std::string_view text) {
  return parse_quantity(text, kByteUnits);
}

std::optional<uint64_t> parse_rate(std::string_view text) {
  return parse_quantity(text, kRateUnits);
}

}  // namespace sluice::manager
