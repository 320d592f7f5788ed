// SPDX-License-Identifier: Apache-2.0
// What is said about a run whose nodes were hit: the gap, and when things were as before. Rank 0
// only; times are of this host's monotonic clock.
#pragma once

#include <vector>

#include "perf/driver/fault_board.h"
#include "perf/driver/nccl_log.h"
#include "perf/sluice-perf/options.h"

namespace sluice::perf {

struct SurvivalOperation {
  TimePoint end;
  double seconds = 0;  // of the slowest rank
};

struct SurvivalFacts {
  int ranks = 0;
  size_t bytes = 0;
  TimePoint begun;
  uint64_t wrong = 0;
  std::vector<SurvivalOperation> operations;
  std::vector<WatchedLine> lines;  // of rank 0's plugin
};

// Of one fault, from its strike to the next one's or the end.
struct FaultOutcome {
  double struck = 0;        // seconds from the beginning
  double restarted = 0;     // likewise; 0: was not
  double median_us = 0;     // of the operations before
  double gap_ms = 0;        // the longest operation that ended after the strike
  double recovered_ms = 0;  // from the strike until operations took no more than twice as long as
                            // before; negative: they still do
  double after_us = 0;      // median of the last second
};
FaultOutcome outcome_of(const SurvivalFacts& facts, const FaultBoard& board, size_t fault,
                        size_t faults);

void print_survival(const Options& options, const FaultBoard& board, const SurvivalFacts& facts);
Status write_survival(const Options& options, const FaultBoard& board, const SurvivalFacts& facts);

}  // namespace sluice::perf
