// SPDX-License-Identifier: Apache-2.0
// A job: the ranks of one program run, whoever starts them, and the aggregation node they may need.
//
// Ranks are forked (`ranks` given) or found from the site's launcher. When they are forked,
// SLUICE_AGG is unset and nodes are needed, they are started for the job. Thread rule: called from
// main() before there are threads.
#pragma once

#include <functional>
#include <string>

#include "base/clock.h"
#include "perf/driver/bootstrap.h"
#include "perf/driver/communicator.h"
#include "perf/driver/fault_board.h"
#include "perf/driver/node_tree.h"

namespace sluice::perf {

// What the launcher does to one of its nodes, after so long from FaultBoard::begin().
struct NodeFault {
  std::string target;  // root, leaf0, manager
  Duration after{};
  int signal = 0;
};

struct JobOptions {
  const char* program = "sluice-perf";  // for messages
  int ranks = 0;                        // 0: from the environment
  bool needs_node = false;
  std::string node;  // file of the node's program; empty: sluice-agg beside this program; "none"
  TreeShape tree;
  bool manager = false;  // the nodes register with a sluice-manager, which hands out the trees
  std::vector<NodeFault> faults;
  std::optional<Duration> restart_after;  // what a fault has ended comes back after so long
  Duration timeout = std::chrono::seconds(60);
  bool verbose = false;
};

// What a rank may want to know about its job.
struct JobSite {
  int levels = 0;               // of the tree that was started for the job; 0: none was
  int nodes = 0;                // in it
  FaultBoard* board = nullptr;  // null without faults
};

// Runs `body` once per rank; the exit code for main().
using JobBody = std::function<int(Bootstrap&, const JobSite&)>;
int run_job(const JobOptions& options, const JobBody& body);

// Tells the other ranks and prints the sentence, on rank 0 only when all ranks know the same.
void report_failure(const char* program, Bootstrap& bootstrap, const Error& error);

// A thread that hangs inside the plugin forbids every clean end.
void leave_if_hanging(const Communicator& communicator);

}  // namespace sluice::perf
