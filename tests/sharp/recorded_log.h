// SPDX-License-Identifier: Apache-2.0
// A logger that keeps its lines. Thread rule: as Logger.
#pragma once

#include <mutex>
#include <string>
#include <vector>

#include "base/log.h"

namespace sluice::sharp::testing {

class RecordedLog {
 public:
  Logger logger() { return Logger(write, this); }
  bool contains(const std::string& text) const {
    const std::lock_guard lock(mutex_);
    for (const std::string& line : lines_) {
      if (line.find(text) != std::string::npos) return true;
    }
    return false;
  }
  std::string all() const {
    const std::lock_guard lock(mutex_);
    std::string text;
    for (const std::string& line : lines_) text += line + "\n";
    return text;
  }

 private:
  static void write(void* context, LogLevel, LogSubsystem, const char*, int, const char* text) {
    auto* log = static_cast<RecordedLog*>(context);
    const std::lock_guard lock(log->mutex_);
    log->lines_.emplace_back(text);
  }

  mutable std::mutex mutex_;
  std::vector<std::string> lines_;
};

}  // namespace sluice::sharp::testing
