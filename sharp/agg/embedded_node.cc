// SPDX-License-Identifier: Apache-2.0
#include "sharp/agg/embedded_node.h"

#include <thread>
#include <utility>

#include "sharp/agg/server.h"

namespace sluice::sharp {
namespace {

// How long a host waits for its groups when it goes.
constexpr auto kTimeToFinish = std::chrono::seconds(2);

class EmbeddedNode final : public NodeHost {
 public:
  EmbeddedNode(std::unique_ptr<transport::Context> context,
               std::unique_ptr<AggregationServer> server)
      : context_(std::move(context)), server_(std::move(server)), thread_([this] { serve(); }) {}
  ~EmbeddedNode() override {
    server_->finish(kTimeToFinish);
    thread_.join();
  }
  transport::ListenerAddress address() const override { return server_->address(); }

 private:
  void serve() {
    if (const Status status = server_->run(); !status) {
      SLUICE_WARN(context_->logger(), collective, "the node in this process ended: %s",
                  status.error().message.c_str());
    }
  }

  std::unique_ptr<transport::Context> context_;  // outlives the server
  std::unique_ptr<AggregationServer> server_;
  std::thread thread_;
};

}  // namespace

Result<std::unique_ptr<NodeHost>> EmbeddedNodeFactory::open(transport::Context& context,
                                                            const transport::SocketAddress& bind) {
  transport::Settings settings = context.settings();
  // Its ranks come when they come; the groups have their own time limits.
  settings.accept_timeout = Duration::max();
  auto own = std::make_unique<transport::Context>(context.logger(), settings);
  ServerOptions options;
  options.listen = bind;
  auto server = AggregationServer::open(*own, options);
  if (!server) return fail(std::move(server).error());
  return std::make_unique<EmbeddedNode>(std::move(own), std::move(*server));
}

}  // namespace sluice::sharp
