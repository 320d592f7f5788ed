// SPDX-License-Identifier: Apache-2.0
#include "perf/driver/job.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "perf/driver/exit_code.h"
#include "perf/driver/job_nodes.h"
#include "perf/driver/launcher.h"
#include "perf/driver/nccl_log.h"
#include "perf/driver/rank_environment.h"

namespace sluice::perf {
namespace {

int complain(const JobOptions& options, const Error& error, int code) {
  std::fprintf(stderr, "%s: %s\n", options.program, error.message.c_str());
  return code;
}

int run_rank(const JobOptions& options, Bootstrap::Place place, const JobSite& site,
             const JobBody& body) {
  set_log_rank(place.rank);
  set_log_verbose(options.verbose);
  const int rank = place.rank;
  auto bootstrap = Bootstrap::join(std::move(place), options.timeout);
  if (!bootstrap) {
    std::fprintf(stderr, "rank %d: %s\n", rank, bootstrap.error().message.c_str());
    return kExitFailed;
  }
  return body(*bootstrap, site);
}

int run_forked(const JobOptions& options, const JobBody& body) {
  auto nodes = JobNodes::start(options);
  if (!nodes) return complain(options, nodes.error(), kExitFailed);
  // Every wait of a rank ends after the time limit; a little more for saying so and closing.
  const Duration grace = options.timeout + std::chrono::seconds(10);
  const JobSite site = (*nodes)->site();
  const auto code = launch_ranks(
      options.ranks, grace,
      [&](Bootstrap::Place place) { return run_rank(options, std::move(place), site, body); },
      [&] { (*nodes)->apply_faults(); });
  if (!code) return complain(options, code.error(), kExitFailed);
  return *code;
}

}  // namespace

int run_job(const JobOptions& options, const JobBody& body) {
  if (options.ranks > 0) return run_forked(options, body);
  auto identity = rank_from_environment([](const char* name) { return std::getenv(name); });
  if (!identity) return complain(options, identity.error(), kExitUsage);
  if (!identity->has_value()) {
    return complain(options,
                    Error{ErrorKind::invalid_usage, 0,
                          "give --ranks N, or start the ranks by mpirun, srun or torchrun"},
                    kExitUsage);
  }
  // Ours, not the plugin's: it would warn about a name that it does not know.
  ::unsetenv("SLUICE_PERF_ROOT");
  Bootstrap::Place place{(*identity)->rank, (*identity)->size, (*identity)->root, 0, {}};
  return run_rank(options, std::move(place), {}, body);
}

void report_failure(const char* program, Bootstrap& bootstrap, const Error& error) {
  const bool known_to_one = error.kind == ErrorKind::remote || error.kind == ErrorKind::timeout;
  const std::string rank = "rank " + std::to_string(bootstrap.rank());
  if (known_to_one) {
    std::fprintf(stderr, "%s: %s\n", rank.c_str(), error.message.c_str());
  } else if (bootstrap.rank() == 0) {
    std::fprintf(stderr, "%s: %s\n", program, error.message.c_str());
  }
}

void leave_if_hanging(const Communicator& communicator) {
  if (!communicator.hangs()) return;
  std::fflush(nullptr);
  ::_exit(kExitFailed);
}

}  // namespace sluice::perf
