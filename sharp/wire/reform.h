// SPDX-License-Identifier: Apache-2.0
// Messages among the ranks of a group when its tree is exchanged for another: because a node died,
// because the manager wants the tree back, or because a better one is to be had. Rank 0 leads; the
// messages travel over the connections of the rendezvous.
//
//   broken tree:   Trouble up, Pause down, Standing up, Prepare down, Ready up, Resume down
//   planned move:  Prepare down, Ready up, Pause down, Standing up, Resume down
//
// Pause makes a rank cut its way to the old tree, so that nothing of the old epoch can reach its
// buffers any more; Standing says what the rank has then; Resume says where the sequences go on and
// who provides what somebody has already. Fatal ends the group, Departure one rank's part in
// it. docs/protocol.md, "Recovery".
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "sharp/wire/chunk.h"
#include "sharp/wire/envelope.h"
#include "sharp/wire/membership.h"

namespace sluice::sharp {

// The way to the tree of this epoch is broken for this rank.
struct Trouble {
  static constexpr MessageType kType = MessageType::trouble;
  uint32_t epoch = 0;
  uint16_t culprit = kNoMember;  // a rank, if the node named one
  std::string sentence;

  template <typename Self, typename Archive>
  static void fields(Self& self, Archive& archive) {
    archive(self.epoch);
    archive(self.culprit);
    archive(self.sentence);
  }
};

// Cut off the tree of this epoch and say how things stand.
struct Pause {
  static constexpr MessageType kType = MessageType::pause;
  uint32_t epoch = 0;      // that ends
  uint8_t host_nodes = 0;  // how many nodes of the substitute tree this rank shall host
  std::string reason;

  template <typename Self, typename Archive>
  static void fields(Self& self, Archive& archive) {
    archive(self.epoch);
    archive(self.host_nodes);
    archive(self.reason);
  }
};

// Sequences here count over all epochs of the group.
struct ClassStanding {
  uint64_t posted = 0;         // chunks below this were sent, or wait for the new tree
  uint64_t base = 0;           // all results below this are held
  uint64_t first = 0;          // what the first bit below stands for
  std::vector<uint8_t> holds;  // bit i: the data of result first + i are here. Of a scatter only
                               // its owner has them; what others have of it is a permission

  bool operator==(const ClassStanding&) const = default;

  template <typename Self, typename Archive>
  static void fields(Self& self, Archive& archive) {
    archive(self.posted);
    archive(self.base);
    archive(self.first);
    archive(self.holds);
  }
};

struct Standing {
  static constexpr MessageType kType = MessageType::standing;
  uint32_t epoch = 0;  // that ended
  std::array<ClassStanding, kTrafficClasses> classes;
  std::string hosted;  // address of the node that this rank hosts; empty: none

  template <typename Self, typename Archive>
  static void fields(Self& self, Archive& archive) {
    archive(self.epoch);
    for (auto& each : self.classes) ClassStanding::fields(each, archive);
    archive(self.hosted);
  }
};

// Join the tree of this epoch.
struct Prepare {
  static constexpr MessageType kType = MessageType::prepare;
  GroupShape shape;  // with the new epoch
  Path path;         // of the rank that gets this
  uint32_t join_budget_ms = 0;
  std::string job;
  std::string token;

  template <typename Self, typename Archive>
  static void fields(Self& self, Archive& archive) {
    GroupShape::fields(self.shape, archive);
    archive(self.path);
    archive(self.join_budget_ms);
    archive(self.job);
    archive(self.token);
  }
};

struct Ready {
  static constexpr MessageType kType = MessageType::ready;
  uint32_t epoch = 0;
  uint8_t yes = 0;
  std::string reason;  // of a no

  template <typename Self, typename Archive>
  static void fields(Self& self, Archive& archive) {
    archive(self.epoch);
    archive(self.yes);
    archive(self.reason);
  }
};

// Where a class goes on, and who provides the chunks that somebody has already.
struct ClassResume {
  uint64_t start = 0;               // the new epoch's sequence 0
  std::vector<uint16_t> providers;  // of start + i: a rank, or kNoMember: is reduced again

  bool operator==(const ClassResume&) const = default;

  template <typename Self, typename Archive>
  static void fields(Self& self, Archive& archive) {
    archive(self.start);
    archive(self.providers);
  }
};

struct Resume {
  static constexpr MessageType kType = MessageType::resume;
  uint32_t epoch = 0;
  std::array<ClassResume, kTrafficClasses> classes;

  template <typename Self, typename Archive>
  static void fields(Self& self, Archive& archive) {
    archive(self.epoch);
    for (auto& each : self.classes) ClassResume::fields(each, archive);
  }
};

// The group has ended for all ranks, for this reason.
struct Fatal {
  static constexpr MessageType kType = MessageType::fatal;
  std::string sentence;

  template <typename Self, typename Archive>
  static void fields(Self& self, Archive& archive) {
    archive(self.sentence);
  }
};

// This rank closes, in order: its end is no loss. Both ways; the last message of its sender.
struct Departure {
  static constexpr MessageType kType = MessageType::departure;

  template <typename Self, typename Archive>
  static void fields(Self&, Archive&) {}
};

}  // namespace sluice::sharp
