// SPDX-License-Identifier: Apache-2.0
// A logger that keeps what it was told. One thread.
#pragma once

#include <string>
#include <vector>

#include "base/log.h"

namespace sluice::test {

class RecordingLogger {
 public:
  struct Line {
    LogLevel level;
    LogSubsystem subsystem;
    std::string text;
  };

  Logger logger() { return Logger(&RecordingLogger::keep, this); }
  const std::vector<Line>& lines() const { return lines_; }
  std::vector<std::string> warnings() const {
    std::vector<std::string> texts;
    for (const Line& line : lines_) {
      if (line.level == LogLevel::warn) texts.push_back(line.text);
    }
    return texts;
  }

 private:
  static void keep(void* context, LogLevel level, LogSubsystem subsystem, const char*, int,
                   const char* text) {
    static_cast<RecordingLogger*>(context)->lines_.push_back({level, subsystem, text});
  }
  std::vector<Line> lines_;
};

}  // namespace sluice::test
