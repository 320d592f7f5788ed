// SPDX-License-Identifier: Apache-2.0
// A rank's client below a hostile node, with and without somebody who takes its troubles; and rank
// 0's head among hostile ranks.
#include <cstdint>
#include <memory>
#include <vector>

#include "sharp/client/group_client.h"
#include "sharp/client/recovery/leader.h"
#include "tests/fuzz/hostile_peer.h"
#include "tests/sharp/memory_connection.h"

namespace {

using namespace sluice;  // NOLINT: a program of its own

class Indifferent final : public sharp::TroubleListener {
 public:
  void on_trouble(uint32_t, uint16_t, std::string) override {}
  void close() override {}
};

// Both ends of a join that went well.
sharp::NodeJoiner::Session session_of(std::unique_ptr<transport::Connection> connection) {
  sharp::NodeJoiner::Session session;
  session.connection = std::move(connection);
  session.slots = {0, 512, 0, 0};
  session.node = "node0:1";
  return session;
}

void post(sharp::GroupClient& client, fuzz::Input& input, std::vector<std::byte>& memory,
          std::vector<sharp::Operation*>& operations) {
  const size_t count = 16 * (1 + input.below(40));
  sharp::AllreduceArguments arguments;
  arguments.send = memory.data();
  arguments.receive = memory.data() + (input.below(2) == 0 ? 0 : 4096);
  arguments.count = count;
  arguments.type = sharp::DataType::float32;
  auto operation = client.allreduce(arguments);
  if (operation && *operation != nullptr) operations.push_back(*operation);
}

// Nothing of the old tree may reach the client once it is cut off; then it goes on with another.
void exchange_tree(sharp::GroupClient& client, fuzz::Input& input,
                   std::unique_ptr<fuzz::HostilePeer>& node) {
  const sharp::Standing standing = client.cut_off();
  sharp::Resume resume;
  for (size_t at = 0; at < resume.classes.size(); ++at) {
    resume.classes[at].start = standing.classes[at].base;
    if (input.below(4) == 1) resume.classes[at].start = input.number<uint64_t>();
    if (input.below(2) == 1) resume.classes[at].providers = {input.number<uint16_t>(), 0};
  }
  auto pair = sharp::testing::make_memory_pair();
  node =
      std::make_unique<fuzz::HostilePeer>(std::move(pair.second), uint16_t{2}, uint16_t{0}, false);
  auto shape = fuzz::small_group(2);
  static_cast<void>(client.resume(session_of(std::move(pair.first)), resume, shape));
}

void fuzz_client(fuzz::Input& input) {
  std::vector<std::byte> memory(8192);
  auto pair = sharp::testing::make_memory_pair();
  auto node =
      std::make_unique<fuzz::HostilePeer>(std::move(pair.second), uint16_t{2}, uint16_t{0}, false);
  sharp::Plan plan;
  plan.shape = fuzz::small_group(2);
  plan.path = {{"node0:1", 2, 0}};
  plan.fallback = static_cast<uint8_t>(input.below(2));
  sharp::GroupClient client(Logger(), plan, 0, session_of(std::move(pair.first)));
  if (plan.fallback != 0) client.set_recovery(std::make_unique<Indifferent>());
  std::vector<sharp::Operation*> operations;
  for (int acts = 0; acts < 200 && !input.empty(); ++acts) {
    const uint32_t act = input.below(8);
    if (act == 0) {
      post(client, input, memory, operations);
    } else if (act == 1 && plan.fallback != 0) {
      exchange_tree(client, input, node);
    } else if (act < 6) {
      node->act(input);
    } else {
      node->drive();
      std::erase_if(operations, [&](sharp::Operation* operation) {
        const auto done = client.test(*operation, nullptr);
        return done && *done;
      });
    }
  }
}

void fuzz_leader(fuzz::Input& input) {
  constexpr uint16_t kRanks = 3;
  sharp::Leader::Setup setup;
  setup.shape = fuzz::small_group(kRanks);
  setup.tree.nodes = {{"node0:1", sharp::kNoParent}};
  setup.tree.leaf_of_rank.assign(kRanks, 0);
  setup.names.assign(kRanks, "host");
  sharp::Leader leader(std::move(setup), nullptr);
  TimePoint now{};
  for (int acts = 0; acts < 100 && !input.empty(); ++acts) {
    const auto rank = static_cast<uint16_t>(input.below(kRanks));
    const auto epoch = input.below(8);
    switch (input.below(8)) {
      case 0:
        leader.on_trouble(rank, {epoch, input.number<uint16_t>(), "trouble"}, now);
        break;
      case 1: {
        sharp::Standing standing;
        standing.epoch = epoch;
        standing.hosted = input.below(4) == 1 ? "" : "127.0.0.1:9";
        for (auto& each : standing.classes) {
          each.posted = input.below(8);
          each.base = input.below(8);
          each.first = input.below(8);
          if (input.below(8) == 1) each.base = input.number<uint64_t>();
          if (input.below(8) == 1) each.first = input.number<uint64_t>();
          each.holds = {input.number<uint8_t>()};
        }
        leader.on_standing(rank, std::move(standing), now);
        break;
      }
      case 2:
      case 3:
        leader.on_ready(rank, {epoch, static_cast<uint8_t>(input.below(2)), "no"}, now);
        break;
      case 4:
        if (input.below(8) == 1) leader.on_lost(rank, "lost");
        break;
      case 5:
        if (input.below(8) == 1) leader.on_departed(rank);
        break;
      default:
        now += std::chrono::milliseconds(input.number<uint16_t>());
        leader.tick(now);
    }
    leader.take_orders();
    leader.take_notices();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::Input input(data, size);
  if (input.below(4) == 0) {
    fuzz_leader(input);
  } else {
    fuzz_client(input);
  }
  return 0;
}
