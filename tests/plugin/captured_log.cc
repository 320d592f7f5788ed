// SPDX-License-Identifier: Apache-2.0
#include "tests/plugin/captured_log.h"

#include <cstdarg>
#include <cstdio>
#include <mutex>
#include <vector>

namespace sluice::test {
namespace {

struct Line {
  ncclDebugLogLevel level;
  std::string text;
};

std::mutex mutex;
std::vector<Line> lines;

}  // namespace

void capture_log(ncclDebugLogLevel level, unsigned long, const char*, int, const char* format,
                 ...) {
  char text[1200];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  const std::lock_guard lock(mutex);
  lines.push_back({level, text});
}

void forget_log() {
  const std::lock_guard lock(mutex);
  lines.clear();
  lines.shrink_to_fit();
}

int count_logged(const std::string& text, ncclDebugLogLevel level) {
  const std::lock_guard lock(mutex);
  int count = 0;
  for (const Line& line : lines) {
    const bool wanted = level == NCCL_LOG_NONE || line.level == level;
    if (wanted && line.text.find(text) != std::string::npos) ++count;
  }
  return count;
}

std::string logged_lines() {
  const std::lock_guard lock(mutex);
  std::string all;
  for (const Line& line : lines) all += line.text + "\n";
  return all;
}

}  // namespace sluice::test
