// SPDX-License-Identifier: Apache-2.0
// Fault injection for tests: one rank sends itself a signal at a stage of its life.
// Thread rule: hit() from any thread.
#pragma once

#include <atomic>
#include <string>
#include <string_view>

#include "base/result.h"

namespace sluice::perf {

// iallreduce stands for the other collectives too.
enum class Stage { listen, connect, accept, isend, test, iallreduce };

class FaultPlan {
 public:
  FaultPlan() = default;  // no fault

  // "rank:stage:signal", for example "2:isend:KILL"; signals KILL, STOP, TERM, SEGV or a number.
  static Result<FaultPlan> parse(std::string_view text);

  FaultPlan for_rank(int rank) const { return rank == rank_ ? *this : FaultPlan(); }

  // Called just before the stage's plugin call; strikes at the `strike_at_`th call of that stage.
  void hit(Stage stage) {
    if (signal_ != 0 && stage == stage_) strike();
  }

  FaultPlan(const FaultPlan& other)
      : rank_(other.rank_),
        stage_(other.stage_),
        signal_(other.signal_),
        calls_(other.calls_.load(std::memory_order_relaxed)) {}
  FaultPlan& operator=(const FaultPlan& other) {
    rank_ = other.rank_;
    stage_ = other.stage_;
    signal_ = other.signal_;
    calls_.store(other.calls_.load(std::memory_order_relaxed), std::memory_order_relaxed);
    return *this;
  }

 private:
  void strike();

  int rank_ = -1;
  Stage stage_ = Stage::listen;
  int signal_ = 0;
  std::atomic<int> calls_{0};
};

// "KILL", "SIGSTOP", "9": a signal's number; 0 when it is none.
int parse_signal(std::string_view text);

}  // namespace sluice::perf
