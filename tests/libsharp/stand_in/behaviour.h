// SPDX-License-Identifier: Apache-2.0
// What the stand-in for libsharp_coll is told to do wrong, by the environment of one rank.
#pragma once

namespace sluice::stand_in {

// SLUICE_STAND_IN: refuse = the job is refused on this rank before it has spoken to anybody;
// no_quota = the group finds no resources; old_switches = no bf16, no 8-bit integers.
inline constexpr const char* kMode = "SLUICE_STAND_IN";
// This rank's n-th operation (from 1) fails, and its data never reaches the others.
inline constexpr const char* kFailAt = "SLUICE_STAND_IN_FAIL_AT";

}  // namespace sluice::stand_in
