// SPDX-License-Identifier: Apache-2.0
// libsluice-node.so as a rank's process uses it: loaded, asked for a node, used, ended.
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "base/version.h"
#include "sharp/agg/embedded_node.h"
#include "tests/sharp/agg/tree_rig.h"
#include "transport/endpoint.h"

namespace sluice::sharp {
namespace {

using testing::Call;
using testing::random_input;
using testing::RecordedLog;
using testing::WirePeer;

// SLUICE_NODE_MODULE: the build's module.
NodeHostFactoryFunction door() {
  void* module = ::dlopen(SLUICE_NODE_MODULE, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  EXPECT_NE(module, nullptr) << ::dlerror();
  return reinterpret_cast<NodeHostFactoryFunction>(::dlsym(module, kNodeHostFactorySymbol));
}

class NodeModule : public ::testing::Test {
 protected:
  std::unique_ptr<NodeHost> open() {
    const std::unique_ptr<NodeHostFactory> factory(door()(kGitId));
    EXPECT_NE(factory, nullptr);
    auto host = factory->open(context_, *transport::SocketAddress::parse("127.0.0.1:0"));
    EXPECT_TRUE(host) << host.error().message;
    return std::move(*host);
  }
  std::unique_ptr<transport::Connection> connect(const transport::ListenerAddress& address) {
    auto connector = transport::Connector::open(context_, address, transport::Purpose::aggregation);
    EXPECT_TRUE(connector);
    const Deadline deadline = Deadline::after(std::chrono::seconds(30));
    while (!deadline.passed()) {
      auto connection = (*connector)->progress();
      EXPECT_TRUE(connection);
      if (!connection || *connection != nullptr) return std::move(*connection);
      std::this_thread::yield();
    }
    return nullptr;
  }
  std::vector<std::unique_ptr<WirePeer>> join(const transport::ListenerAddress& address) {
    std::vector<std::unique_ptr<WirePeer>> ranks;
    for (uint16_t rank = 0; rank < 2; ++rank) {
      Join join;
      join.shape.members = 2;
      join.shape.chunk_bytes = 4096;
      join.shape.window = 4;
      join.shape.latency_bytes = 64;
      join.shape.latency_window = 4;
      join.path = {{"here:1", 2, rank}};
      join.ranks = {{rank, 1}};
      ranks.push_back(std::make_unique<WirePeer>(connect(address), join));
    }
    return ranks;
  }

  RecordedLog log_;
  transport::Context context_{log_.logger(), transport::Settings()};
};

TEST_F(NodeModule, ReducesAndEndsInBoundedTime) {
  auto host = open();
  auto ranks = join(host->address());
  Call call;
  call.type = DataType::int32;
  call.elements = 5000;
  const auto input = random_input(call, 1);
  for (auto& rank : ranks) rank->post(call, input);
  const Deadline deadline = Deadline::after(std::chrono::seconds(30));
  while (!deadline.passed() &&
         !(ranks[0]->operations[0].done() && ranks[1]->operations[0].done())) {
    for (auto& rank : ranks) rank->drive();
  }
  ASSERT_TRUE(ranks[0]->operations[0].done() && ranks[1]->operations[0].done());
  int32_t in = 0;
  int32_t out = 0;
  std::memcpy(&in, input.data() + 400, sizeof in);
  std::memcpy(&out, ranks[1]->operations[0].output.data() + 400, sizeof out);
  EXPECT_EQ(static_cast<uint32_t>(out), 2 * static_cast<uint32_t>(in));
  // A chunk that is never complete holds the host up, but not for ever.
  ranks[0]->post(call, input);
  for (int at = 0; at < 100; ++at) {
    ranks[0]->drive();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  const TimePoint before = Clock::now();
  host.reset();
  EXPECT_LT(in_seconds(Clock::now() - before), 20);
}

TEST_F(NodeModule, AnotherBuildIsNotTrusted) {
  EXPECT_EQ(door()("another"), nullptr);
  EXPECT_EQ(door()(nullptr), nullptr);
}

}  // namespace
}  // namespace sluice::sharp
