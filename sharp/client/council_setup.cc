// SPDX-License-Identifier: Apache-2.0
#include "sharp/client/council_setup.h"

#include <utility>

#include "sharp/client/council.h"

namespace sluice::sharp {

Status start_council(transport::Context& context, const ClientSettings& settings,
                     Agreement& agreement, uint16_t rank, const transport::ListenerAddress& own,
                     GroupClient& group) {
  auto bind = transport::SocketAddress::parse(transport::text_of(own));
  if (!bind) return fail(std::move(bind).error());
  bind->set_port(0);
  Council::Setup setup;
  setup.rank = rank;
  setup.connections = std::move(agreement.council);
  setup.hosts = settings.node_hosts;
  setup.bind = *bind;
  if (rank == 0) {
    Leader::Setup leading;
    leading.shape = agreement.plan.shape;
    leading.tree = std::move(agreement.offer.tree);
    leading.names = std::move(agreement.hosts);
    leading.request = std::move(agreement.request);
    leading.job = agreement.plan.job;
    leading.join_budget = join_budget(settings.connect_timeout);
    setup.leading = std::move(leading);
    setup.source = std::move(agreement.source);
  }
  auto council = Council::open(context, std::move(setup), group);
  if (!council) return fail(std::move(council).error());
  Council* started = council->get();
  group.set_recovery(std::move(*council));
  return started->start();
}

}  // namespace sluice::sharp
