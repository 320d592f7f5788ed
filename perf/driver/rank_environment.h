// SPDX-License-Identifier: Apache-2.0
// Which rank this process is, when a launcher of the site started it: Open MPI, PMIx, PMI, SLURM or
// torchrun. Thread rule: none, pure functions of what they are given.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "base/result.h"
#include "perf/driver/stream_socket.h"

namespace sluice::perf {

using GetVariable = std::function<const char*(const char*)>;

struct RankIdentity {
  int rank = 0;
  int size = 1;
  std::string source;  // the variable that told
  HostPort root;       // where rank 0 listens
};

// Nothing when no launcher's variables are there; an error when they make no sense.
Result<std::optional<RankIdentity>> rank_from_environment(const GetVariable& get);

}  // namespace sluice::perf
