// SPDX-License-Identifier: Apache-2.0
#include "perf/sluice-perf/plugins.h"

#include <cstdio>

#include "perf/driver/exit_code.h"
#include "perf/driver/job.h"

namespace sluice::perf {

Result<Communicators> open_plugins(const Options& options, Bootstrap& bootstrap) {
  Communicators made;
  std::vector<std::string> files{options.plugin};
  if (!options.compare.empty()) files.push_back(options.compare);
  for (const std::string& file : files) {
    CommunicatorOptions wanted;
    wanted.plugin = file;
    wanted.version = options.version;
    wanted.collnet = options.in_network;
    wanted.timeout = options.timeout;
    wanted.fault = options.fault.for_rank(bootstrap.rank());
    auto communicator = Communicator::create(wanted, bootstrap);
    if (!communicator) return fail(std::move(communicator).error());
    made.push_back(std::move(*communicator));
  }
  return made;
}

JobFacts facts_of(const Options& options, const Communicators& communicators) {
  JobFacts facts;
  facts.ranks = communicators.front()->bootstrap().size();
  for (size_t index = 0; index < communicators.size(); ++index) {
    facts.plugins.push_back((index == 0 ? options.plugin : options.compare) + ", " +
                            communicators[index]->description());
  }
  return facts;
}

int give_up(Bootstrap& bootstrap, const Communicators& communicators, const Error& error) {
  std::fprintf(stderr, "rank %d: %s\n", bootstrap.rank(), error.message.c_str());
  bootstrap.abort("rank " + std::to_string(bootstrap.rank()) + " gave up: " + error.message);
  for (const auto& communicator : communicators) leave_if_hanging(*communicator);
  return kExitFailed;
}

}  // namespace sluice::perf
