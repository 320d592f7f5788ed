// SPDX-License-Identifier: Apache-2.0
// The plugins of one run: --plugin and, when given, --compare. Thread rule: the user's thread.
#pragma once

#include <memory>
#include <vector>

#include "perf/driver/communicator.h"
#include "perf/driver/job.h"
#include "perf/sluice-perf/options.h"
#include "perf/sluice-perf/report.h"

namespace sluice::perf {

using Communicators = std::vector<std::unique_ptr<Communicator>>;

Result<Communicators> open_plugins(const Options& options, Bootstrap& bootstrap);
JobFacts facts_of(const Options& options, const Communicators& communicators);

// Does the work of the command on one rank; the exit code.
int run_collective(const Options& options, Bootstrap& bootstrap, const JobSite& site);
int run_survival(const Options& options, Bootstrap& bootstrap, const JobSite& site);
int run_p2p(const Options& options, Bootstrap& bootstrap, const JobSite& site);

// Prints `error`, tells the other ranks, and picks the exit code of a failure while running.
int give_up(Bootstrap& bootstrap, const Communicators& communicators, const Error& error);

}  // namespace sluice::perf
