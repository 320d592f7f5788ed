// SPDX-License-Identifier: Apache-2.0
// Short sleeps of a loop that waits for others: quick at first, then a millisecond.
#pragma once

#include <algorithm>
#include <chrono>
#include <thread>

namespace sluice::sharp {

class Backoff {
 public:
  void pause() {
    std::this_thread::sleep_for(sleep_);
    sleep_ = std::min(sleep_ * 2, kLongest);
  }

 private:
  static constexpr std::chrono::microseconds kLongest{1000};
  std::chrono::microseconds sleep_{50};
};

}  // namespace sluice::sharp
