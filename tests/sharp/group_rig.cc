// SPDX-License-Identifier: Apache-2.0
#include "tests/sharp/group_rig.h"

#include <gtest/gtest.h>

#include <utility>

namespace sluice::sharp::testing {

Status JoiningPeer::on_announcement(std::span<const transport::RemoteWindow> windows,
                                    std::span<const std::byte>) {
  slots = windows[0];
  return {};
}

Status JoiningPeer::on_message(std::span<const std::byte> message) {
  const auto envelope = open_envelope(message);
  if (!envelope) return fail(envelope.error());
  if (const auto refused = decode<Refused>(*envelope)) refusal = refused->sentence;
  if (const auto error = decode<GroupError>(*envelope)) group_error = error->sentence;
  if (decode<Joined>(*envelope)) joined = true;
  return {};
}

GroupShape small_shape(int members) {
  GroupShape shape;
  shape.group[0] = 0xab;
  shape.group[15] = static_cast<uint8_t>(members);
  shape.epoch = 1;
  shape.members = static_cast<uint16_t>(members);
  shape.chunk_bytes = 256;
  shape.window = 4;
  shape.latency_bytes = 64;
  shape.latency_window = 3;
  return shape;
}

std::unique_ptr<JoiningPeer> ask_to_join(AggregationNode& node, const Join& join,
                                         const Mischief& up, const Mischief& down) {
  MemoryPair pair = make_memory_pair(up, down);
  node.adopt(std::move(pair.second));
  auto peer = std::make_unique<JoiningPeer>(std::move(pair.first));
  EXPECT_TRUE(peer->connection->send_message(encode(join), {}));
  return peer;
}

GroupRig::GroupRig(const RigOptions& options) : node(log.logger(), options.limits, no_parents) {
  Plan plan;
  plan.shape = options.shape;
  plan.path = {Hop{"memory:1", plan.shape.members, 0}};
  std::vector<std::unique_ptr<JoiningPeer>> peers;
  for (uint16_t rank = 0; rank < options.shape.members; ++rank) {
    Mischief up{options.delivery, rank * 2u + 1, {}};
    Mischief down{options.delivery, rank * 2u + 2, {}};
    if (rank < options.up.size()) up = options.up[rank];
    if (rank < options.down.size()) down = options.down[rank];
    Join join;
    join.shape = options.shape;
    join.path = {Hop{"memory:1", plan.shape.members, rank}};
    join.ranks = {{rank, 1}};
    join.host = format_text("host%u", unsigned{rank});
    peers.push_back(ask_to_join(node, join, up, down));
  }
  for (uint16_t rank = 0; rank < options.shape.members; ++rank) {
    JoiningPeer& peer = *peers[rank];
    for (int at = 0; at < 1000 && !peer.is_in() && peer.refusal.empty(); ++at) {
      step();
      peer.drive();
    }
    EXPECT_TRUE(peer.is_in()) << peer.refusal << peer.lost;
    plan.path = {Hop{"memory:1", plan.shape.members, rank}};
    NodeJoiner::Session session{
        std::move(peer.connection), *peer.slots, "memory:1", rank, "", kNoMember};
    clients.push_back(std::make_unique<GroupClient>(log.logger(), plan, rank, std::move(session)));
  }
}

Status GroupRig::finish(const std::vector<std::pair<int, Operation*>>& operations, int most_steps) {
  std::vector<std::pair<int, Operation*>> left = operations;
  for (int at = 0; at < most_steps && !left.empty(); ++at) {
    step();
    for (auto next = left.begin(); next != left.end();) {
      const auto done = clients[static_cast<size_t>(next->first)]->test(*next->second, nullptr);
      if (!done) return fail(done.error());
      next = *done ? left.erase(next) : next + 1;
    }
  }
  if (left.empty()) return {};
  return fail(ErrorKind::timeout, format_text("%zu operations are stuck", left.size()));
}

}  // namespace sluice::sharp::testing
