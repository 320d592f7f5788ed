// SPDX-License-Identifier: Apache-2.0
// Logging: a Logger is handed to whoever may log; there is no global one.
//
// Rules (after UCX): lower case, one line, no "=", exact cause with errno text, addresses and
// numbers included. A warning is something a site engineer should read; everything else is info.
// Thread rule: a Logger may be used from any thread at once; the sink must allow that (NCCL's
// does).
#pragma once

#include <atomic>
#include <cstdint>

namespace sluice {

enum class LogLevel { warn, info, trace };

// Subsystems in NCCL's numbering (ncclDebugLogSubSys, NCCL's nccl_common.h).
enum class LogSubsystem : unsigned long { init = 0x1, collective = 0x2, net = 0x10, env = 0x80 };

class Logger {
 public:
  using Sink = void (*)(void* context, LogLevel level, LogSubsystem subsystem, const char* file,
                        int line, const char* text);

  Logger() = default;  // swallows everything
  Logger(Sink sink, void* context) : sink_(sink), context_(context) {}

  // Prints to stderr as "<program>: warn: text"; for daemons and tools. `program` must outlive it.
  static Logger to_stderr(const char* program, LogLevel most_verbose);

  [[gnu::format(printf, 6, 7)]] void write(LogLevel level, LogSubsystem subsystem, const char* file,
                                           int line, const char* format, ...) const;

 private:
  Sink sink_ = nullptr;
  void* context_ = nullptr;
};

// Limits one call site to a number of lines, counts what it swallowed, and says so at the end.
// Thread rule: any thread.
class LogLimiter {
 public:
  explicit LogLimiter(uint32_t most) : most_(most) {}
  bool allow() { return count_.fetch_add(1, std::memory_order_relaxed) < most_; }
  uint32_t swallowed() const {
    const uint32_t count = count_.load(std::memory_order_relaxed);
    return count > most_ ? count - most_ : 0;
  }

 private:
  const uint32_t most_;
  std::atomic<uint32_t> count_{0};
};

}  // namespace sluice

#define SLUICE_LOG(logger, level, subsystem, ...) \
  (logger).write((level), (subsystem), __FILE__, __LINE__, __VA_ARGS__)
#define SLUICE_WARN(logger, subsystem, ...) \
  SLUICE_LOG(logger, ::sluice::LogLevel::warn, ::sluice::LogSubsystem::subsystem, __VA_ARGS__)
#define SLUICE_INFO(logger, subsystem, ...) \
  SLUICE_LOG(logger, ::sluice::LogLevel::info, ::sluice::LogSubsystem::subsystem, __VA_ARGS__)
