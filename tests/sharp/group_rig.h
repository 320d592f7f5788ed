// SPDX-License-Identifier: Apache-2.0
// A node and its ranks on one thread, over memory connections: every order of events is the test's
// to choose.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sharp/agg/node.h"
#include "sharp/client/group_client.h"
#include "tests/sharp/memory_connection.h"
#include "tests/sharp/recorded_log.h"

namespace sluice::sharp::testing {

// What a node said to somebody who wants to join.
class JoiningPeer final : public transport::ConnectionHandler {
 public:
  explicit JoiningPeer(std::unique_ptr<transport::Connection> own) : connection(std::move(own)) {}

  void drive() {
    if (lost.empty()) {
      if (const Status status = connection->progress(*this); !status) lost = status.error().message;
    }
  }
  bool is_in() const { return joined && slots; }

  std::unique_ptr<transport::Connection> connection;
  bool joined = false;
  std::optional<transport::RemoteWindow> slots;
  std::string refusal;
  std::string group_error;
  std::string lost;

 private:
  Status on_announcement(std::span<const transport::RemoteWindow> windows,
                         std::span<const std::byte> note) override;
  Status on_message(std::span<const std::byte> message) override;
  Status on_arrival(transport::WindowId, uint64_t, uint64_t, std::span<const std::byte>) override {
    return {};
  }
  Status on_written(uint64_t) override { return {}; }
};

GroupShape small_shape(int members);

struct RigOptions {
  GroupShape shape;
  NodeLimits limits;
  double delivery = 1.0;  // see Mischief
  // By rank; for what the rank and what the node posts.
  std::vector<Mischief> up;
  std::vector<Mischief> down;
};

// For nodes that are roots.
class NoParents final : public ParentDialer {
 public:
  Result<std::unique_ptr<transport::Connector>> dial(const std::string& node) override {
    return fail(ErrorKind::refused, "there is no node " + node);
  }
};

class GroupRig {
 public:
  // All ranks join.
  explicit GroupRig(const RigOptions& options);

  int size() const { return static_cast<int>(clients.size()); }
  void step() {
    node.activate_all();
    node.step();
  }
  // Steps until every operation is done or one fails; the error of the first that failed.
  Status finish(const std::vector<std::pair<int, Operation*>>& operations, int most_steps = 200000);

  RecordedLog log;
  NoParents no_parents;
  AggregationNode node;
  std::vector<std::unique_ptr<GroupClient>> clients;
};

// A connection to the node that has asked to join.
std::unique_ptr<JoiningPeer> ask_to_join(AggregationNode& node, const Join& join,
                                         const Mischief& up = {}, const Mischief& down = {});

}  // namespace sluice::sharp::testing
