// SPDX-License-Identifier: Apache-2.0
// A job: the ranks of one program run, whoever starts them, and the aggregation node they may need.
//
// Ranks are forked (`ranks` given) or found from the site's launcher. When they are forked,
// SLUICE_AGG is unset and a node is needed, one is started for the job. Thread rule: called from
// main() before there are threads.
#pragma once

#include <functional>
#include <string>

#include "base/clock.h"
#include "perf/driver/bootstrap.h"
#include "perf/driver/communicator.h"

namespace sluice::perf {

struct JobOptions {
  const char* program = "sluice-perf";  // for messages
  int ranks = 0;                        // 0: from the environment
  bool needs_node = false;
  std::string node;  // file of the node's program; empty: sluice-agg beside this program; "none"
  Duration timeout = std::chrono::seconds(60);
  bool verbose = false;
};

// Runs `body` once per rank; the exit code for main().
int run_job(const JobOptions& options, const std::function<int(Bootstrap&)>& body);

// Tells the other ranks and prints the sentence, on rank 0 only when all ranks know the same.
void report_failure(const char* program, Bootstrap& bootstrap, const Error& error);

// A thread that hangs inside the plugin forbids every clean end.
void leave_if_hanging(const Communicator& communicator);

}  // namespace sluice::perf
