// SPDX-License-Identifier: Apache-2.0
#include "sharp/agg/child_port.h"

#include <algorithm>

namespace sluice::sharp {
namespace {

constexpr size_t kMostText = 60;  // of a list of ranks

uint32_t end_of(const RankRange& range) {
  return uint32_t{range.first} + range.count;
}

}  // namespace

std::string text_of(const std::vector<RankRange>& ranks) {
  std::string text;
  for (const RankRange& range : ranks) {
    if (text.size() > kMostText) return text + ", ...";
    if (!text.empty()) text += ", ";
    text += range.count == 1 ? format_text("%u", unsigned{range.first})
                             : format_text("%u-%u", unsigned{range.first}, end_of(range) - 1);
  }
  return text;
}

bool are_ranks(const std::vector<RankRange>& ranks, uint16_t members) {
  uint32_t next = 0;
  for (const RankRange& range : ranks) {
    if (range.count == 0 || range.first < next || end_of(range) > members) return false;
    next = end_of(range);
  }
  return !ranks.empty();
}

bool overlap(const std::vector<RankRange>& a, const std::vector<RankRange>& b) {
  return std::any_of(a.begin(), a.end(), [&](const RankRange& left) {
    return std::any_of(b.begin(), b.end(), [&](const RankRange& right) {
      return left.first < end_of(right) && right.first < end_of(left);
    });
  });
}

std::vector<RankRange> united(const std::vector<RankRange>& a, const std::vector<RankRange>& b) {
  std::vector<RankRange> all = a;
  all.insert(all.end(), b.begin(), b.end());
  std::sort(all.begin(), all.end(),
            [](const RankRange& left, const RankRange& right) { return left.first < right.first; });
  std::vector<RankRange> joined;
  for (const RankRange& range : all) {
    if (!joined.empty() && end_of(joined.back()) == range.first) {
      joined.back().count = static_cast<uint16_t>(joined.back().count + range.count);
    } else {
      joined.push_back(range);
    }
  }
  return joined;
}

uint32_t count_of(const std::vector<RankRange>& ranks) {
  uint32_t count = 0;
  for (const RankRange& range : ranks) count += range.count;
  return count;
}

std::string ChildInfo::name() const {
  const std::string list = text_of(ranks);
  return node ? format_text("node %s (ranks %s)", host.c_str(), list.c_str())
              : format_text("rank %s", list.c_str());
}

std::string ChildInfo::full_name() const {
  return node ? name() : name() + " (" + host + ")";
}

bool ChildInfo::holds(uint16_t rank) const {
  return std::any_of(ranks.begin(), ranks.end(), [rank](const RankRange& range) {
    return rank >= range.first && rank < end_of(range);
  });
}

}  // namespace sluice::sharp
