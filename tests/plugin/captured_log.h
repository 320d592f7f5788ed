// SPDX-License-Identifier: Apache-2.0
// NCCL's logging callback for tests: keeps every line. Any thread.
#pragma once

#include <string>

#include "plugin/abi/nccl_types.h"

namespace sluice::test {

extern "C" void capture_log(ncclDebugLogLevel level, unsigned long flags, const char* file,
                            int line, const char* format, ...);

void forget_log();
// Lines that contain `text`, at the level ("warn", "info") they were written with; any level if
// null.
int count_logged(const std::string& text, ncclDebugLogLevel level = NCCL_LOG_NONE);
std::string logged_lines();

}  // namespace sluice::test
