// SPDX-License-Identifier: Apache-2.0
// FaultBoard: a page that launcher and forked ranks share: when the measurement began, and what the
// launcher has done to the nodes since.
//
// Times are of the one monotonic clock of this host. Thread rule: any process, any thread.
// Ownership: unmapped by whoever holds it; forked ranks inherit the mapping.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "base/clock.h"
#include "base/result.h"

namespace sluice::perf {

class FaultBoard {
 public:
  static constexpr size_t kMostFaults = 8;

  static Result<FaultBoard> make();

  // Faults are timed from here; the first call decides.
  void begin() { note(page_->begun); }
  std::optional<TimePoint> begun() const { return time_of(page_->begun); }

  void note_strike(size_t fault) { note(page_->strikes.at(fault)); }
  void note_restart(size_t fault) { note(page_->restarts.at(fault)); }
  std::optional<TimePoint> strike(size_t fault) const { return time_of(page_->strikes.at(fault)); }
  std::optional<TimePoint> restart(size_t fault) const {
    return time_of(page_->restarts.at(fault));
  }

 private:
  using Time = std::atomic<int64_t>;  // 0: not yet
  static_assert(Time::is_always_lock_free, "shared between processes");
  struct Page {
    Time begun{0};
    std::array<Time, kMostFaults> strikes{};
    std::array<Time, kMostFaults> restarts{};
  };
  struct Unmap {
    void operator()(Page* page) const;
  };

  explicit FaultBoard(Page* page) : page_(page) {}
  static void note(Time& time) {
    int64_t unset = 0;
    time.compare_exchange_strong(unset, Clock::now().time_since_epoch().count());
  }
  static std::optional<TimePoint> time_of(const Time& time) {
    const int64_t count = time.load();
    if (count == 0) return std::nullopt;
    return TimePoint(TimePoint::duration(count));
  }

  std::unique_ptr<Page, Unmap> page_;
};

}  // namespace sluice::perf
