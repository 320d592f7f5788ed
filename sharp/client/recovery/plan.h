// SPDX-License-Identifier: Apache-2.0
// Rank 0's arithmetic of a recovery: from how all ranks stand to where each class goes on and who
// provides what somebody has already. Pure.
//
// A class goes on at the lowest chunk that some rank lacks, L. Nobody holds L+W or later, since
// that takes a chunk from the rank that lacks L. What somebody holds of L .. L+W-1 is provided by
// the lowest rank that does; the rest is reduced again, for which all ranks have their inputs.
#pragma once

#include <array>
#include <span>

#include "base/result.h"
#include "sharp/wire/reform.h"

namespace sluice::sharp {

// `windows`: W of each class. `standings[i]` is rank i's. An error if they contradict each other: a
// sentence that names the rank.
Result<Resume> plan_resume(std::span<const Standing> standings,
                           const std::array<uint32_t, kTrafficClasses>& windows, uint32_t epoch);

}  // namespace sluice::sharp
