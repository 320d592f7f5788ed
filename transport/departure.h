// SPDX-License-Identifier: Apache-2.0
// How a connection ends when its peer goes: what the peer sent before must be delivered first, so
// the end is noted when it shows and becomes the connection's error when nothing more can come.
// Thread rule: as its connection.
#pragma once

#include <optional>
#include <string>

#include "base/clock.h"
#include "base/log.h"
#include "base/result.h"
#include "transport/liveness.h"

namespace sluice::transport {

class Departure {
 public:
  // The peer's last words: empty for a plain goodbye, else why it ended.
  void say(std::string words) {
    goodbye_ = true;
    if (words_.empty()) words_ = std::move(words);
  }
  // Something ended; `error` when a system call said so.
  void note(int error = 0) {
    if (!since_) since_ = Clock::now();
    if (error != 0 && error_ == 0) error_ = error;
  }
  bool noted() const { return since_.has_value(); }
  // A stream that should have ended by now never will: a forked child of the peer may hold it open.
  bool overdue() const { return since_ && Clock::now() - *since_ > kPatience; }

  bool orderly() const { return goodbye_ && words_.empty(); }
  Error error(const std::string& peer, const Watch& watch) const;

 private:
  static constexpr Duration kPatience = std::chrono::seconds(1);
  std::optional<TimePoint> since_;
  bool goodbye_ = false;
  int error_ = 0;
  std::string words_;
};

// A peer's text, made fit for a log line.
std::string printable(std::string_view text);

}  // namespace sluice::transport
