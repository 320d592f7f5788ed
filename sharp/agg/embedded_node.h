// SPDX-License-Identifier: Apache-2.0
// The aggregation node as a guest of another process: on a thread of its own, until its host goes.
//
// It is also the face of libsluice-node.so, which a rank loads when its tree has died: the plugin
// itself brings no reduction kernels. Thread rule: sharp/client/node_host.h.
#pragma once

#include "sharp/client/node_host.h"

namespace sluice::sharp {

class EmbeddedNodeFactory final : public NodeHostFactory {
 public:
  Result<std::unique_ptr<NodeHost>> open(transport::Context& context,
                                         const transport::SocketAddress& bind) override;
};

// What the module exports, by the name "sluice_node_host_factory_v1". `build` is kGitId of the
// caller: null if the module is of another build, whose types may differ. Whoever calls owns the
// factory, deletes it before its context ends, and never unloads the module.
using NodeHostFactoryFunction = NodeHostFactory* (*)(const char* build);
inline constexpr char kNodeHostFactorySymbol[] = "sluice_node_host_factory_v1";

}  // namespace sluice::sharp
