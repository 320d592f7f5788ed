// SPDX-License-Identifier: Apache-2.0
// What sluice-perf says: the table as it grows, the footer, the JSON file. Rank 0 only.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "perf/sluice-perf/options.h"

namespace sluice::perf {

struct Row {
  std::string algorithm;  // ring, innetwork, p2p
  size_t plugin = 0;      // 0: --plugin, 1: --compare
  size_t bytes = 0;
  size_t count = 0;
  std::string type;
  std::string op;
  double time_us = 0;              // p2p: one way
  double algorithm_bandwidth = 0;  // GB/s
  double bus_bandwidth = 0;
  bool checked = false;
  uint64_t wrong = 0;
  uint64_t wire_bytes = 0;  // per rank and operation
};

struct Ratio {       // of two contestants' times at one size: how many times faster the second is
  std::string what;  // "plugin" or "algorithm"
  std::string algorithm;
  size_t bytes = 0;
  std::string type;
  std::string op;
  double median = 0;
};

struct JobFacts {
  int ranks = 0;
  std::vector<std::string> plugins;  // file and description
};

class Report {
 public:
  Report(const Options& options, JobFacts facts, bool speaks);

  void header() const;
  void add(const Row& row);
  void add(const Ratio& ratio) { ratios_.push_back(ratio); }
  void footer() const;
  Status write_json() const;
  uint64_t wrong() const;

 private:
  double average_bus_bandwidth() const;
  std::string verdict() const;  // of ring and innetwork; empty without both

  const Options& options_;
  JobFacts facts_;
  bool speaks_;
  std::vector<Row> rows_;
  std::vector<Ratio> ratios_;
};

double median_of(std::vector<double> values);

}  // namespace sluice::perf
