// SPDX-License-Identifier: Apache-2.0
// An aggregation node inside a rank's process: where a group goes on when its tree has died.
//
// The client knows it by this interface only, because the node brings the reduction kernels, which
// the plugin does not link: it loads them as a module when a tree has died
// (sharp/agg/embedded_node.h). Thread rule: a host runs a thread of its own from open() to its
// destruction; its functions may be called from any thread.
#pragma once

#include <memory>

#include "base/result.h"
#include "transport/endpoint.h"

namespace sluice::sharp {

class NodeHost {
 public:
  // Ends the node: waits, in bounded time, until its groups have got their last results.
  virtual ~NodeHost() = default;
  virtual transport::ListenerAddress address() const = 0;
};

class NodeHostFactory {
 public:
  virtual ~NodeHostFactory() = default;
  // `bind`: the address to listen on, port 0. `context` outlives the host.
  virtual Result<std::unique_ptr<NodeHost>> open(transport::Context& context,
                                                 const transport::SocketAddress& bind) = 0;
};

}  // namespace sluice::sharp
