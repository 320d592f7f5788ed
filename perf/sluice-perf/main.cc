// SPDX-License-Identifier: Apache-2.0
#include <cstdio>

#include "perf/driver/exit_code.h"
#include "perf/driver/job.h"
#include "perf/sluice-perf/options.h"
#include "perf/sluice-perf/plugins.h"

// NOLINTNEXTLINE(bugprone-exception-escape): out of memory may well end a tool
int main(int argc, char** argv) {
  using namespace sluice::perf;
  const auto parsed = parse_options(argc, argv);
  if (const auto* end = std::get_if<EndNow>(&parsed)) {
    std::FILE* const to = end->code == kExitFine ? stdout : stderr;
    std::fprintf(to, end->code == kExitFine ? "%s" : "sluice-perf: %s\n", end->text.c_str());
    return end->code;
  }
  const Options& options = std::get<Options>(parsed);
  JobOptions job;
  job.ranks = options.ranks;
  job.needs_node = options.in_network;
  job.node = options.node;
  job.timeout = options.timeout;
  job.verbose = options.verbose;
  return run_job(job, [&](sluice::perf::Bootstrap& bootstrap) {
    return options.command == Options::Command::p2p ? run_p2p(options, bootstrap)
                                                    : run_allreduce(options, bootstrap);
  });
}
