// SPDX-License-Identifier: Apache-2.0
// The contestants of one run: each algorithm over each plugin. Thread rule: the user's thread.
#pragma once

#include <memory>
#include <vector>

#include "perf/driver/algorithm.h"
#include "perf/driver/collective_data.h"
#include "perf/driver/job.h"
#include "perf/sluice-perf/plugins.h"

namespace sluice::perf {

struct Contestant {
  size_t plugin = 0;
  std::unique_ptr<Algorithm> algorithm;
};

// All ranks call it; `data` must outlive the contestants.
Result<std::vector<Contestant>> connect_contestants(const Options& options,
                                                    Communicators& communicators,
                                                    const CollectiveData& data);

// How many roundings of 16- and 8-bit floats the error may have piled up from
// (perf/driver/test_data.h): one at every hop of a ring; in the tree that was started for the job
// one a level for sums, whose partial sums share the error bound, and one a node for products,
// whose relative errors all add up; one in all in an exact tree. Of a tree that others have started
// only the worst is known.
int roundings_of(const Algorithm& algorithm, ncclRedOp_t op, const Options& options,
                 const JobSite& site, int ranks);

}  // namespace sluice::perf
