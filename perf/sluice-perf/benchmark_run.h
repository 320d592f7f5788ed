// SPDX-License-Identifier: Apache-2.0
// What every command of sluice-perf does around its benchmark on one rank: opens the plugins, runs
// it, and picks the exit code. Thread rule: the user's thread.
#pragma once

#include "perf/driver/exit_code.h"
#include "perf/driver/job.h"
#include "perf/sluice-perf/plugins.h"

namespace sluice::perf {

// `Benchmark` is made of (options, bootstrap, site, communicators) and has run() and wrong().
template <typename Benchmark>
int run_benchmark(const Options& options, Bootstrap& bootstrap, const JobSite& site) {
  auto communicators = open_plugins(options, bootstrap);
  if (!communicators) {
    const Error& error = communicators.error();
    report_failure("sluice-perf", bootstrap, error);
    const bool died = error.kind == ErrorKind::remote || error.kind == ErrorKind::timeout;
    return died ? kExitFailed : kExitUsage;
  }
  Benchmark benchmark(options, bootstrap, site, *communicators);
  const Status status = benchmark.run();
  if (!status) return give_up(bootstrap, *communicators, status.error());
  return benchmark.wrong() ? kExitWrong : kExitFine;
}

}  // namespace sluice::perf
