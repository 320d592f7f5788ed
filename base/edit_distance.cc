// SPDX-License-Identifier: Apache-2.0
#include "base/edit_distance.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace sluice {

size_t edit_distance(std::string_view left, std::string_view right) {
  // Three rows of the usual table: this one, the one before, and the one before that (for swaps).
  std::vector<size_t> oldest(right.size() + 1);
  std::vector<size_t> before(right.size() + 1);
  std::vector<size_t> row(right.size() + 1);
  for (size_t j = 0; j <= right.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= left.size(); ++i) {
    std::swap(oldest, before);
    std::swap(before, row);
    row[0] = i;
    for (size_t j = 1; j <= right.size(); ++j) {
      const size_t replaced = before[j - 1] + (left[i - 1] == right[j - 1] ? 0 : 1);
      row[j] = std::min({before[j] + 1, row[j - 1] + 1, replaced});
      const bool swapped =
          i > 1 && j > 1 && left[i - 1] == right[j - 2] && left[i - 2] == right[j - 1];
      if (swapped) row[j] = std::min(row[j], oldest[j - 2] + 1);
    }
  }
  return row[right.size()];
}

}  // namespace sluice
