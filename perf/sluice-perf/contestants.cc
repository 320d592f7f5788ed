// SPDX-License-Identifier: Apache-2.0
#include "perf/sluice-perf/contestants.h"

#include <algorithm>

#include "perf/driver/in_network.h"
#include "perf/driver/ring.h"

namespace sluice::perf {
namespace {

template <typename Made>
Status enter(Result<Made> made, size_t plugin, std::vector<Contestant>& contestants) {
  if (!made) return fail(std::move(made).error());
  contestants.push_back({plugin, *std::move(made)});
  return {};
}

}  // namespace

Result<std::vector<Contestant>> connect_contestants(const Options& options,
                                                    Communicators& communicators,
                                                    const CollectiveData& data) {
  std::vector<Contestant> contestants;
  for (size_t plugin = 0; plugin < communicators.size(); ++plugin) {
    Communicator& communicator = *communicators[plugin];
    if (options.ring) {
      SLUICE_RETURN_IF_ERROR(
          enter(Ring::connect(communicator, options.receive_hint), plugin, contestants));
    }
    if (options.in_network) {
      SLUICE_RETURN_IF_ERROR(enter(InNetwork::connect(communicator), plugin, contestants));
    }
  }
  Bootstrap& bootstrap = communicators.front()->bootstrap();
  for (Contestant& one : contestants) {
    SLUICE_RETURN_IF_ERROR(
        bootstrap.agree(one.algorithm->prepare(data.input(), data.output(), data.size())));
  }
  return contestants;
}

int roundings_of(const Algorithm& algorithm, ncclRedOp_t op, const Options& options,
                 const JobSite& site, int ranks) {
  const bool in_network = dynamic_cast<const InNetwork*>(&algorithm) != nullptr;
  if (!in_network || site.levels == 0) return ranks - 1;
  if (options.exact) return 1;
  return std::min(op == ncclProd ? site.nodes : site.levels, ranks - 1);
}

}  // namespace sluice::perf
