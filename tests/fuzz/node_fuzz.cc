// SPDX-License-Identifier: Apache-2.0
// An aggregation node between hostile children and a hostile parent.
#include <cstdint>
#include <memory>
#include <vector>

#include "sharp/agg/node.h"
#include "tests/fuzz/hostile_peer.h"
#include "tests/sharp/memory_connection.h"

namespace {

using namespace sluice;  // NOLINT: a program of its own

// Whoever is dialled is hostile; the last few of them are driven.
class HostileDialer final : public sharp::ParentDialer {
 public:
  Result<std::unique_ptr<transport::Connector>> dial(const std::string&) override {
    auto pair = sharp::testing::make_memory_pair();
    if (parents.size() == 4) parents.erase(parents.begin());
    parents.push_back(std::make_unique<fuzz::HostilePeer>(std::move(pair.second), uint16_t{1},
                                                          uint16_t{0}, false));
    return std::make_unique<sharp::testing::MemoryConnector>(std::move(pair.first));
  }

  std::vector<std::unique_ptr<fuzz::HostilePeer>> parents;
};

void drive(sharp::AggregationNode& node, std::vector<std::unique_ptr<fuzz::HostilePeer>>& peers,
           HostileDialer& dialer) {
  node.activate_all();
  node.step();
  node.tidy();
  for (auto& peer : peers) peer->drive();
  for (auto& parent : dialer.parents) parent->drive();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::Input input(data, size);
  const auto children = static_cast<uint16_t>(1 + input.below(3));
  const auto levels = static_cast<uint16_t>(input.below(3));
  HostileDialer dialer;
  sharp::NodeLimits limits;
  limits.memory = 1 << 20;
  limits.max_groups = 8;
  sharp::AggregationNode node(Logger(), limits, dialer);
  std::vector<std::unique_ptr<fuzz::HostilePeer>> peers;
  for (uint16_t child = 0; child < children; ++child) {
    auto pair = sharp::testing::make_memory_pair();
    node.adopt(std::move(pair.second));
    peers.push_back(
        std::make_unique<fuzz::HostilePeer>(std::move(pair.first), children, child, true));
    if (input.below(8) != 1) peers.back()->join(levels);
  }
  drive(node, peers, dialer);
  drive(node, peers, dialer);
  for (int acts = 0; acts < 200 && !input.empty(); ++acts) {
    const uint32_t who = input.below(8);
    if (who < children) {
      peers[who]->act(input);
    } else if (who < 6 && !dialer.parents.empty()) {
      dialer.parents.back()->act(input);
    } else {
      drive(node, peers, dialer);
    }
  }
  drive(node, peers, dialer);
  return 0;
}
