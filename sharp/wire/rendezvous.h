// SPDX-License-Identifier: Apache-2.0
// Messages among the ranks of one communicator while they agree on a group, all through rank 0.
//
// Order: Hello up, Plan down, Vote up, Decision down, Farewell up. A Decision may come at any time.
// After a commit the connections stay: they carry the messages of reform.h.
#pragma once

#include <cstdint>
#include <string>

#include "sharp/wire/envelope.h"
#include "sharp/wire/membership.h"

namespace sluice::sharp {

struct Hello {
  static constexpr MessageType kType = MessageType::hello;
  uint16_t rank = 0;
  uint16_t ranks = 0;
  uint32_t time_left_ms = 0;  // until this rank gives up
  uint32_t chunk_bytes = 0;   // what this rank was configured for; rank 0's values win
  uint32_t window = 0;
  uint32_t latency_bytes = 0;
  Precision precision = Precision::compact;
  Verification verification = Verification::off;
  uint8_t fallback = 0;  // 1: wants to go on without a tree, and can host a node of a substitute
  std::string host;

  template <typename Self, typename Archive>
  static void fields(Self& self, Archive& archive) {
    archive(self.rank);
    archive(self.ranks);
    archive(self.time_left_ms);
    archive(self.chunk_bytes);
    archive(self.window);
    archive(self.latency_bytes);
    archive(self.precision);
    archive(self.verification);
    archive(self.fallback);
    archive(self.host);
  }
};

struct Plan {
  static constexpr MessageType kType = MessageType::plan;
  GroupShape shape;
  uint32_t join_budget_ms = 0;  // time for reaching the node and joining
  Path path;                    // of the rank that gets this plan
  uint8_t fallback = 0;         // 1: all ranks can; the group goes on when its tree dies
  std::string tree;             // all of it, for texts
  std::string job;              // for the nodes' texts and the manager
  std::string token;

  template <typename Self, typename Archive>
  static void fields(Self& self, Archive& archive) {
    GroupShape::fields(self.shape, archive);
    archive(self.join_budget_ms);
    archive(self.path);
    archive(self.fallback);
    archive(self.tree);
    archive(self.job);
    archive(self.token);
  }
};

struct Vote {
  static constexpr MessageType kType = MessageType::vote;
  uint8_t yes = 0;
  std::string reason;  // of a no

  template <typename Self, typename Archive>
  static void fields(Self& self, Archive& archive) {
    archive(self.yes);
    archive(self.reason);
  }
};

struct Decision {
  static constexpr MessageType kType = MessageType::decision;
  uint8_t commit = 0;
  std::string reason;  // of an abort: the whole sentence that every rank returns

  template <typename Self, typename Archive>
  static void fields(Self& self, Archive& archive) {
    archive(self.commit);
    archive(self.reason);
  }
};

// The decision has arrived: rank 0 may close.
struct Farewell {
  static constexpr MessageType kType = MessageType::farewell;

  template <typename Self, typename Archive>
  static void fields(Self&, Archive&) {}
};

}  // namespace sluice::sharp
