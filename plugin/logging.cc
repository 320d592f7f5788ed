// SPDX-License-Identifier: Apache-2.0
#include "plugin/logging.h"

#include <bit>
#include <cstring>

namespace sluice::plugin {
namespace {

static_assert(sizeof(ncclDebugLogger_t) == sizeof(void*));

ncclDebugLogLevel level_of(LogLevel level) {
  switch (level) {
    case LogLevel::warn:
      return NCCL_LOG_WARN;
    case LogLevel::info:
      return NCCL_LOG_INFO;
    case LogLevel::trace:
      break;
  }
  return NCCL_LOG_TRACE;
}

void write_to_nccl(void* context, LogLevel level, LogSubsystem subsystem, const char* file,
                   int line, const char* text) {
  const auto callback = std::bit_cast<ncclDebugLogger_t>(context);
  const char* slash = std::strrchr(file, '/');
  callback(level_of(level), static_cast<unsigned long>(subsystem),
           slash == nullptr ? file : slash + 1, line, "sluice: %s", text);
}

}  // namespace

Logger logger_for(ncclDebugLogger_t callback) {
  if (callback == nullptr) return {};
  return {write_to_nccl, std::bit_cast<void*>(callback)};
}

}  // namespace sluice::plugin
