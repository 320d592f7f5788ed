// SPDX-License-Identifier: Apache-2.0
#include "sharp/client/client.h"

#include <algorithm>
#include <utility>

#include "sharp/client/coordinator.h"
#include "sharp/client/council_setup.h"
#include "sharp/client/group_client.h"
#include "sharp/client/participant.h"
#include "sharp/client/static_tree.h"

namespace sluice::sharp {
namespace {

constexpr Duration kShortestConnect = std::chrono::milliseconds(100);
constexpr Duration kLongestConnect = std::chrono::hours(1);

std::vector<std::string> hosts_of(std::span<const transport::ListenerAddress> handles) {
  std::vector<std::string> hosts;
  for (const auto& handle : handles) hosts.push_back(host_part(transport::text_of(handle)));
  return hosts;
}

}  // namespace

Result<std::unique_ptr<Rendezvous>> Rendezvous::open(transport::Context& context,
                                                     const transport::SocketAddress& bind) {
  transport::Listener::Options options;
  options.purpose = transport::Purpose::rendezvous;
  options.bind = bind;
  auto listener = transport::Listener::open(context, options);
  if (!listener) return fail(std::move(listener).error());
  return std::unique_ptr<Rendezvous>(new Rendezvous(std::move(*listener)));
}

Result<std::unique_ptr<Client>> Client::connect(transport::Context& context,
                                                const ClientSettings& settings,
                                                std::span<const transport::ListenerAddress> handles,
                                                int rank, Rendezvous& rendezvous) {
  const int ranks = static_cast<int>(handles.size());
  if (rank < 0 || rank >= ranks) {
    return fail(ErrorKind::invalid_argument,
                format_text("in-network reduction: rank %d of %d ranks", rank, ranks));
  }
  // All ranks count alike, so all come to the same answer by themselves.
  if (ranks > kMaxMembers) {
    return fail(ErrorKind::refused, refusal(format_text("%d ranks, but a group has at most %u",
                                                        ranks, unsigned{kMaxMembers})));
  }
  // Nobody waits for ever: a rank that blocks here cannot be aborted.
  ClientSettings bounded = settings;
  bounded.connect_timeout =
      std::clamp<Duration>(settings.connect_timeout, kShortestConnect, kLongestConnect);
  auto agreement =
      rank == 0 ? Coordinator(context, bounded, hosts_of(handles), rendezvous.listener()).agree()
                : Participant(context, bounded, rank, ranks).agree(handles[0]);
  if (!agreement) return fail(std::move(agreement).error());
  auto client = std::make_unique<GroupClient>(context.logger(), agreement->plan, rank,
                                              agreement->joiner->take());
  if (agreement->plan.fallback != 0) {
    SLUICE_RETURN_IF_ERROR(start_council(context, bounded, *agreement, static_cast<uint16_t>(rank),
                                         rendezvous.address(), *client));
  } else {
    client->keep_lease(std::move(agreement->source));
  }
  return client;
}

bool Client::supports(DataType type, ReduceOperator reduce_operator) {
  return static_cast<int>(reduce_operator) < kReduceOperators && size_of(type) > 0;
}

Client& Client::client_of(Operation& operation) {
  return *operation.client;
}

}  // namespace sluice::sharp
