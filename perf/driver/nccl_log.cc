// SPDX-License-Identifier: Apache-2.0
#include "perf/driver/nccl_log.h"

#include <strings.h>

#include <atomic>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>

namespace sluice::perf {
namespace {

std::atomic<int> log_rank{0};
std::atomic<bool> log_verbose{false};

void write_log(ncclDebugLogLevel level, unsigned long, const char*, int, const char* format, ...) {
  const bool warning = level == NCCL_LOG_WARN;
  if (!warning && (!log_verbose.load(std::memory_order_relaxed) || level > NCCL_LOG_INFO)) return;
  char text[1024];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  std::fprintf(stderr, "rank %d: plugin: %s%s\n", log_rank.load(std::memory_order_relaxed),
               warning ? "warn: " : "", text);
}

ErrorKind kind_of(ncclResult_t result) {
  switch (result) {
    case ncclSystemError:
    case ncclUnhandledCudaError:
      return ErrorKind::system;
    case ncclRemoteError:
      return ErrorKind::remote;
    case ncclInvalidArgument:
      return ErrorKind::invalid_argument;
    case ncclInvalidUsage:
      return ErrorKind::invalid_usage;
    default:
      return ErrorKind::internal;
  }
}

}  // namespace

const char* name_of(ncclResult_t result) {
  switch (result) {
    case ncclSuccess:
      return "ncclSuccess";
    case ncclUnhandledCudaError:
      return "ncclUnhandledCudaError";
    case ncclSystemError:
      return "ncclSystemError";
    case ncclInternalError:
      return "ncclInternalError";
    case ncclInvalidArgument:
      return "ncclInvalidArgument";
    case ncclInvalidUsage:
      return "ncclInvalidUsage";
    case ncclRemoteError:
      return "ncclRemoteError";
    case ncclInProgress:
      return "ncclInProgress";
  }
  return "an unknown result";
}

Error error_of(ncclResult_t result, const std::string& what) {
  return Error{kind_of(result), 0,
               what + " failed with " + name_of(result) + " (" + std::to_string(result) + ")"};
}

void set_log_rank(int rank) {
  log_rank.store(rank, std::memory_order_relaxed);
}

void set_log_verbose(bool verbose) {
  const char* level = std::getenv("NCCL_DEBUG");
  const bool asked =
      level != nullptr && (strcasecmp(level, "INFO") == 0 || strcasecmp(level, "TRACE") == 0);
  log_verbose.store(verbose || asked, std::memory_order_relaxed);
}

ncclDebugLogger_t nccl_logger() {
  return write_log;
}

}  // namespace sluice::perf
