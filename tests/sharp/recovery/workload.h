// SPDX-License-Identifier: Apache-2.0
// Ranks at work: the same mixed operations on all, several in flight, every byte of every result
// checked, until they are told to stop.
//
// Sums of fp32 are checked bit for bit against what the group gave when it was whole: a tree that
// brackets otherwise shows. Thread rule: each rank has its thread; the rest from one.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tests/sharp/cluster.h"

namespace sluice::sharp::testing {

class Workload {
 public:
  // All connected. `in_flight`: operations.
  Workload(Cluster& cluster, int in_flight);
  ~Workload() { stop(); }

  void start();
  // All ranks finish the same last operation; what went wrong, "" if nothing did.
  std::string stop();

  int done() const { return done_.load(); }  // operations at rank 0
  // Longest time of rank 0 without an operation that was completed, since the last call. ms
  double longest_gap();

 private:
  struct Call;
  void run(Rank& rank);
  std::string run_calls(Rank& rank);
  void report(const std::string& what);

  Cluster& cluster_;
  const int in_flight_;
  std::vector<std::thread> threads_;
  std::vector<std::atomic<int>> begun_;
  std::atomic<int> limit_{INT32_MAX};
  std::atomic<int> done_{0};
  std::atomic<int64_t> last_done_{0};
  std::atomic<int64_t> longest_{0};
  std::mutex mutex_;
  std::string wrong_;
};

}  // namespace sluice::sharp::testing
