// SPDX-License-Identifier: Apache-2.0
// Patience: how long a polling loop waits for a plugin before it gives up.
//
// A loop calls progress() when something moved and idle() when nothing did. idle() yields the core,
// as NCCL's progress thread does, and answers an error once nothing has moved for the limit or
// another thread called stop(). The heartbeat lets a watcher tell a polling loop from one that
// hangs inside the plugin.
// Thread rule: progress() and idle() by one thread at a time, the rest by any.
#pragma once

#include <sched.h>

#include <atomic>
#include <cstdint>

#include "base/clock.h"
#include "base/result.h"

namespace sluice::perf {

class Patience {
 public:
  explicit Patience(Duration limit) : limit_(limit) {}

  void progress() {
    moved_ = true;
    beat();
  }

  // `doing` ends the sentence "nothing moved for 60 s ...".
  Status idle(const char* doing) {
    beat();
    ::sched_yield();
    if (++idle_rounds_ % kRoundsPerLook != 0) return {};
    if (stopped_.load(std::memory_order_relaxed)) {
      return fail(ErrorKind::remote, std::string("stopped ") + doing);
    }
    if (moved_) {
      moved_ = false;
      deadline_ = Deadline::after(limit_);
    }
    if (!deadline_.passed()) return {};
    return fail(ErrorKind::timeout, format_text("nothing moved for %.3g s %s", seconds(), doing));
  }

  void stop() { stopped_.store(true, std::memory_order_relaxed); }
  bool stopped() const { return stopped_.load(std::memory_order_relaxed); }
  uint64_t heartbeat() const { return heartbeat_.load(std::memory_order_relaxed); }
  Duration limit() const { return limit_; }

 private:
  static constexpr uint64_t kRoundsPerLook = 16;  // a clock read costs as much as a cheap test()

  void beat() {  // one writer at a time: no read-modify-write needed
    heartbeat_.store(heartbeat_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }
  double seconds() const { return std::chrono::duration<double>(limit_).count(); }

  const Duration limit_;
  bool moved_ = true;
  uint64_t idle_rounds_ = 0;
  Deadline deadline_;
  std::atomic<bool> stopped_{false};
  std::atomic<uint64_t> heartbeat_{0};
};

}  // namespace sluice::perf
