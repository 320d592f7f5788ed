// SPDX-License-Identifier: Apache-2.0
// Monotonic time and deadlines. Any thread.
#pragma once

#include <chrono>

namespace sluice {

using Clock = std::chrono::steady_clock;
using Duration = Clock::duration;
using TimePoint = Clock::time_point;

inline double in_seconds(Duration duration) {
  return std::chrono::duration<double>(duration).count();
}

class Deadline {
 public:
  Deadline() : at_(TimePoint::max()) {}  // never
  static Deadline after(Duration duration) {
    Deadline deadline;
    if (duration < Duration::max() / 2) deadline.at_ = Clock::now() + duration;
    return deadline;
  }
  bool never() const { return at_ == TimePoint::max(); }
  bool passed() const { return !never() && Clock::now() >= at_; }
  // Zero when passed; Duration::max() when there is none.
  Duration left() const {
    if (never()) return Duration::max();
    const TimePoint now = Clock::now();
    return now >= at_ ? Duration::zero() : at_ - now;
  }
  TimePoint at() const { return at_; }

 private:
  TimePoint at_;
};

}  // namespace sluice
