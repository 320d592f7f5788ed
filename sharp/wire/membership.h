// SPDX-License-Identifier: Apache-2.0
// Messages between a child (a rank, or a node below) and an aggregation node about a group.
//
// Order: the child sends Join; the node announces the child's slots, and answers Joined once the
// whole tree above and below it stands, or Refused; either side ends it, the child by Leave, the
// node by GroupError. Resend goes both ways. docs/protocol.md has the states.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sharp/wire/chunk.h"
#include "sharp/wire/envelope.h"
#include "sharp/wire/group_id.h"

namespace sluice::sharp {

inline constexpr uint16_t kMaxMembers = 4096;  // ranks of a group
inline constexpr uint16_t kMaxFanIn = 64;      // children of a node: arrivals are one 64-bit set
inline constexpr size_t kMaxTreeDepth = 8;     // nodes between a rank and the root, both included
inline constexpr uint16_t kNoMember = 0xffff;

// What 16- and 8-bit floats are rounded to between nodes (docs/numbers.md).
enum class Precision : uint8_t {
  compact = 0,  // once a level, to the type itself
  exact = 1,    // once in all: sums and products travel as fp32 between nodes
};

// Which results the ranks and nodes of a group check against the claims of the inputs.
enum class Verification : uint8_t { off = 0, sample = 1, all = 2 };

// The shape of a group, fixed at join: every member must name the same.
struct GroupShape {
  GroupId group{};
  uint32_t epoch = 0;
  uint16_t members = 0;
  uint32_t chunk_bytes = 0;     // slot size of the streaming class
  uint32_t window = 0;          // its slots
  uint32_t latency_bytes = 0;   // largest operation of the latency class, 0: the class is off
  uint32_t latency_window = 0;  // its slots
  Precision precision = Precision::compact;
  Verification verification = Verification::off;

  bool operator==(const GroupShape&) const = default;

  template <typename Self, typename Archive>
  static void fields(Self& self, Archive& archive) {
    archive(self.group);
    archive(self.epoch);
    archive(self.members);
    archive(self.chunk_bytes);
    archive(self.window);
    archive(self.latency_bytes);
    archive(self.latency_window);
    archive(self.precision);
    archive(self.verification);
  }
};

// A sentence if no group may have this shape.
Status check(const GroupShape& shape);

// One level of a tree as a rank sees it: a node on its way up, and its place among the children.
struct Hop {
  std::string node;       // "10.0.0.1:7654"
  uint16_t children = 0;  // of the node in this group
  uint16_t child = 0;     // which of them this way comes from

  bool operator==(const Hop&) const = default;

  template <typename Self, typename Archive>
  static void fields(Self& self, Archive& archive) {
    archive(self.node);
    archive(self.children);
    archive(self.child);
  }
};

// From the node that is joined up to the root; the last one has no parent.
using Path = std::vector<Hop>;
// A sentence if no tree has such a way.
Status check(const Path& path);

// Consecutive ranks.
struct RankRange {
  uint16_t first = 0;
  uint16_t count = 0;

  bool operator==(const RankRange&) const = default;

  template <typename Self, typename Archive>
  static void fields(Self& self, Archive& archive) {
    archive(self.first);
    archive(self.count);
  }
};

struct Join {
  static constexpr MessageType kType = MessageType::join;
  GroupShape shape;
  Path path;                     // path[0] is the node that gets this message
  std::vector<RankRange> ranks;  // below the child, ascending: one for a rank, all for a node
  uint8_t from_node = 0;         // 1: the child is a node
  std::string host;              // for texts: "gpu07, pid 4711" or the node's address
  std::string job;               // for texts and the manager; may be empty
  std::string token;             // proof of admission; empty: none (not checked yet)

  uint16_t child() const { return path.empty() ? kNoMember : path.front().child; }

  template <typename Self, typename Archive>
  static void fields(Self& self, Archive& archive) {
    GroupShape::fields(self.shape, archive);
    archive(self.path);
    archive(self.ranks);
    archive(self.from_node);
    archive(self.host);
    archive(self.job);
    archive(self.token);
  }
};

struct Joined {
  static constexpr MessageType kType = MessageType::joined;
  uint16_t child = 0;

  template <typename Self, typename Archive>
  static void fields(Self& self, Archive& archive) {
    archive(self.child);
  }
};

enum class RefusalCode : uint16_t {
  full = 1,
  memory = 2,
  shape = 3,
  duplicate = 4,
  late = 5,
  parent = 6,    // the node above refused, or cannot be reached
  draining = 7,  // the node takes no new groups
};

struct Refused {
  static constexpr MessageType kType = MessageType::refused;
  RefusalCode code{};
  std::string sentence;  // goes on after the node's address: "is full: 64 of 64 groups"

  template <typename Self, typename Archive>
  static void fields(Self& self, Archive& archive) {
    archive(self.code);
    archive(self.sentence);
  }
};

struct Leave {
  static constexpr MessageType kType = MessageType::leave;
  uint16_t child = 0;

  template <typename Self, typename Archive>
  static void fields(Self& self, Archive& archive) {
    archive(self.child);
  }
};

// A chunk or a result arrived damaged: its sender has it still, and sends it again.
struct Resend {
  static constexpr MessageType kType = MessageType::resend;
  TrafficClass traffic_class = TrafficClass::streaming;
  uint64_t sequence = 0;

  template <typename Self, typename Archive>
  static void fields(Self& self, Archive& archive) {
    archive(self.traffic_class);
    archive(self.sequence);
  }
};

struct GroupError {
  static constexpr MessageType kType = MessageType::group_error;
  uint16_t member = kNoMember;  // the rank whose fault it is; kNoMember: nobody's, or a node's
  std::string sentence;

  template <typename Self, typename Archive>
  static void fields(Self& self, Archive& archive) {
    archive(self.member);
    archive(self.sentence);
  }
};

}  // namespace sluice::sharp
