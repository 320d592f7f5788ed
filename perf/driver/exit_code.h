// SPDX-License-Identifier: Apache-2.0
// Exit codes of the programs in perf/.
#pragma once

namespace sluice::perf {

inline constexpr int kExitFine = 0;
inline constexpr int kExitWrong = 1;   // wrong results
inline constexpr int kExitUsage = 2;   // bad arguments, or a plugin that cannot be used
inline constexpr int kExitFailed = 3;  // a rank failed, died or timed out

}  // namespace sluice::perf
