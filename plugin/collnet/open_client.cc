// SPDX-License-Identifier: Apache-2.0
#include "plugin/collnet/open_client.h"

#include <cstdlib>
#include <utility>

#include "plugin/collnet/node_module.h"
#include "plugin/settings.h"
#include "sharp/libsharp/connect.h"

namespace sluice::plugin::collnet {
namespace {

// What a group goes on with when its tree dies.
std::shared_ptr<sharp::NodeHostFactory> node_hosts(const CommunicatorContext& context) {
  auto hosts = load_node_module();
  if (hosts) return *std::move(hosts);
  SLUICE_WARN(context.logger(), init,
              "%s: in-network reduction will not survive the loss of a node: %s",
              context.name().c_str(), hosts.error().message.c_str());
  return nullptr;
}

Result<std::unique_ptr<sharp::Client>> open_libsharp(
    CommunicatorContext& context, std::span<const transport::ListenerAddress> handles, int rank,
    sharp::Rendezvous& rendezvous) {
  auto settings = sharp::libsharp::read_environment(
      [](const char* name) { return std::getenv(name); }, context.logger());
  settings.sharp_library = context.configuration().text(Parameter::sluice_sharp_library);
  settings.connect_timeout = context.client_settings()->connect_timeout;
  auto client = sharp::libsharp::connect(context.transport(), settings, handles, rank, rendezvous);
  if (!client) return fail(std::move(client).error());
  return *std::move(client);
}

}  // namespace

Result<std::unique_ptr<sharp::Client>> open_client(
    CommunicatorContext& context, int device, std::span<const transport::ListenerAddress> handles,
    int rank, sharp::Rendezvous& rendezvous) {
  if (uses_libsharp(context.configuration())) {
    return open_libsharp(context, handles, rank, rendezvous);
  }
  sharp::ClientSettings settings = *context.client_settings();
  settings.rail = device;
  if (settings.fallback) settings.node_hosts = node_hosts(context);
  return sharp::Client::connect(context.transport(), settings, handles, rank, rendezvous);
}

bool libsharp_reduces(sharp::DataType type, sharp::ReduceOperator reduce_operator) {
  using sharp::DataType;
  switch (type) {
    case DataType::int32:
    case DataType::uint32:
    case DataType::int64:
    case DataType::uint64:
    case DataType::float16:
    case DataType::float32:
    case DataType::float64:
      return reduce_operator != sharp::ReduceOperator::product;
    default:
      return false;
  }
}

}  // namespace sluice::plugin::collnet
