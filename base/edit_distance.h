// SPDX-License-Identifier: Apache-2.0
// How many slips of the keyboard lie between two names: Damerau-Levenshtein distance (insert,
// delete, replace, swap of neighbours; no part is edited twice). Any thread.
#pragma once

#include <cstddef>
#include <string_view>

namespace sluice {

size_t edit_distance(std::string_view left, std::string_view right);

}  // namespace sluice
