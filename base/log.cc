// SPDX-License-Identifier: Apache-2.0
#include "base/log.h"

#include <cstdarg>
#include <cstdio>

namespace sluice {
namespace {

const char* name_of(LogLevel level) {
  switch (level) {
    case LogLevel::warn:
      return "warn";
    case LogLevel::info:
      return "info";
    case LogLevel::trace:
      return "trace";
  }
  return "?";
}

template <LogLevel MostVerbose>
void write_to_stderr(void* context, LogLevel level, LogSubsystem, const char*, int,
                     const char* text) {
  if (level > MostVerbose) return;
  std::fprintf(stderr, "%s: %s: %s\n", static_cast<const char*>(context), name_of(level), text);
}

}  // namespace

Logger Logger::to_stderr(const char* program, LogLevel most_verbose) {
  void* context = const_cast<char*>(program);
  switch (most_verbose) {
    case LogLevel::warn:
      return Logger(write_to_stderr<LogLevel::warn>, context);
    case LogLevel::info:
      return Logger(write_to_stderr<LogLevel::info>, context);
    case LogLevel::trace:
      break;
  }
  return Logger(write_to_stderr<LogLevel::trace>, context);
}

void Logger::write(LogLevel level, LogSubsystem subsystem, const char* file, int line,
                   const char* format, ...) const {
  if (sink_ == nullptr) return;
  char text[1024];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  sink_(context_, level, subsystem, file, line, text);
}

}  // namespace sluice
