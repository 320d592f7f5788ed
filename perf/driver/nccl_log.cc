// SPDX-License-Identifier: Apache-2.0
#include "perf/driver/nccl_log.h"

#include <strings.h>

#include <atomic>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <utility>

namespace sluice::perf {
namespace {

std::atomic<int> log_rank{0};
std::atomic<bool> log_verbose{false};

std::atomic<const char*> watched_text{nullptr};

struct Watched {
  std::mutex mutex;
  std::vector<WatchedLine> lines;
};
Watched& watched() {
  static Watched instance;
  return instance;
}

void note_if_watched(const char* line) {
  const char* const text = watched_text.load(std::memory_order_relaxed);
  if (text == nullptr || std::strstr(line, text) == nullptr) return;
  const std::lock_guard lock(watched().mutex);
  watched().lines.push_back({Clock::now(), line});
}

void write_log(ncclDebugLogLevel level, unsigned long, const char*, int, const char* format, ...) {
  const bool warning = level == NCCL_LOG_WARN;
  const bool shown =
      warning || (log_verbose.load(std::memory_order_relaxed) && level <= NCCL_LOG_INFO);
  if (!shown &&
      (level > NCCL_LOG_INFO || watched_text.load(std::memory_order_relaxed) == nullptr)) {
    return;
  }
  char text[1024];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  note_if_watched(text);
  if (!shown) return;
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

void watch_log(const char* text) {
  watched_text.store(text, std::memory_order_relaxed);
}

std::vector<WatchedLine> take_watched_lines() {
  const std::lock_guard lock(watched().mutex);
  return std::exchange(watched().lines, {});
}

ncclDebugLogger_t nccl_logger() {
  return write_log;
}

}  // namespace sluice::perf
