// SPDX-License-Identifier: Apache-2.0
// The job, or jobs, of a command line: one for each number of ranks; at the end of several a table
// over all of them. Thread rule: main() only.
#pragma once

#include "perf/sluice-perf/options.h"

namespace sluice::perf {

// The gravest exit code.
int run_all_jobs(const Options& options);

}  // namespace sluice::perf
