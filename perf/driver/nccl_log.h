// SPDX-License-Identifier: Apache-2.0
// What NCCL's side of the plugin contract needs for words: result names and the logger callback.
// Thread rule: set_log_level/set_log_rank before any plugin is loaded; the callback from any
// thread.
#pragma once

#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "plugin/abi/nccl_types.h"

namespace sluice::perf {

const char* name_of(ncclResult_t result);

// "isend: remote error (ncclRemoteError, 6)" as an Error of the matching kind.
Error error_of(ncclResult_t result, const std::string& what);

// The callback has no context argument in NCCL's ABI, hence these process-wide settings.
void set_log_rank(int rank);
void set_log_verbose(bool verbose);  // else only warnings; NCCL_DEBUG=INFO has the same effect

ncclDebugLogger_t nccl_logger();

// Lines of the plugin that hold a text, with their times, whether they are shown or not.
struct WatchedLine {
  TimePoint time;
  std::string text;
};
void watch_log(const char* text);  // a literal
std::vector<WatchedLine> take_watched_lines();

}  // namespace sluice::perf
