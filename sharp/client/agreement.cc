// SPDX-License-Identifier: Apache-2.0
#include "sharp/client/agreement.h"

#include <unistd.h>

#include <algorithm>

namespace sluice::sharp {
namespace {

constexpr Duration kShortestJoin = std::chrono::seconds(1);
constexpr Duration kLongestJoin = std::chrono::seconds(10);
constexpr Duration kDecisionMargin = std::chrono::seconds(3);

}  // namespace

Duration join_budget(Duration connect_timeout) {
  return std::clamp(connect_timeout / 2, kShortestJoin, kLongestJoin);
}

Duration tree_budget(Duration connect_timeout) {
  return join_budget(connect_timeout) / 2;
}

Deadline hard_limit(Duration connect_timeout) {
  return Deadline::after(connect_timeout + join_budget(connect_timeout) + kDecisionMargin);
}

std::string refusal(const std::string& reason) {
  return "in-network reduction refused: " + reason;
}

std::string this_process() {
  char name[256] = "unknown host";
  static_cast<void>(::gethostname(name, sizeof name - 1));
  return format_text("%s, pid %d", name, static_cast<int>(::getpid()));
}

uint32_t milliseconds(Duration duration) {
  const auto count = std::chrono::duration_cast<std::chrono::milliseconds>(duration).count();
  return static_cast<uint32_t>(std::clamp<int64_t>(count, 0, UINT32_MAX));
}

}  // namespace sluice::sharp
