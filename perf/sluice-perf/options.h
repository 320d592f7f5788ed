// SPDX-License-Identifier: Apache-2.0
// sluice-perf's command line, after nccl-tests' habits. Thread rule: main() only.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "perf/driver/algorithm.h"
#include "perf/driver/data_type.h"
#include "perf/driver/fault.h"
#include "perf/driver/job.h"

namespace sluice::perf {

struct Options {
  Collective collective = Collective::allreduce;
  bool p2p = false;  // else a collective
  bool ring = true;
  bool in_network = false;
  bool in_place = false;
  bool bidirectional = false;
  bool check = true;
  bool receive_hint = false;
  bool exact = false;  // SLUICE_PRECISION=exact
  bool manager = false;
  bool latency = false;  // one table over several numbers of ranks
  bool quiet = false;    // no table of a single job
  bool verbose = false;

  size_t least_bytes = 0;
  size_t most_bytes = 0;
  size_t step_bytes = 0;  // used when step_factor is 0
  size_t step_factor = 0;
  int iterations = 20;
  int warmups = 5;
  std::vector<TypeInfo> types;
  std::vector<OperatorInfo> operators;

  std::string plugin;
  std::string compare;           // a second plugin, or empty
  std::vector<int> rank_counts;  // one job for each; empty: the ranks are the launcher's
  std::string node;
  TreeShape tree;
  Duration timeout = std::chrono::seconds(60);
  std::string json;
  FaultPlan fault;                     // of a rank
  std::vector<NodeFault> node_faults;  // of the job's daemons
  std::optional<Duration> restart_after;
  int version = 0;

  const char* command() const { return p2p ? "p2p" : name_of(collective); }
  std::vector<size_t> sizes() const;
};

struct EndNow {  // help was asked for, or a word was wrong
  int code;
  std::string text;  // goes to stdout when the code is 0
};

std::variant<Options, EndNow> parse_options(int argc, const char* const* argv);

// "target:time:signal", as in "leaf0:2s:KILL".
Result<NodeFault> parse_node_fault(const std::string& text);
// "2s", "500ms".
Result<Duration> parse_duration(const std::string& text);
// "8", "64K", "16M", "2G": powers of 1024.
Result<size_t> parse_bytes(const std::string& text);

}  // namespace sluice::perf
