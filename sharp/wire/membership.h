// SPDX-License-Identifier: Apache-2.0
// Messages between a rank and an aggregation node about membership of a group.
//
// Order: rank sends Join; node answers Joined (and announces its slots) or Refused; either side
// ends it, the rank by Leave, the node by GroupError. docs/protocol.md has the states.
#pragma once

#include <cstdint>
#include <string>

#include "sharp/wire/envelope.h"
#include "sharp/wire/group_id.h"

namespace sluice::sharp {

inline constexpr uint16_t kMaxMembers = 64;  // arrivals of a slot are one 64-bit set
inline constexpr uint16_t kNoMember = 0xffff;

// The shape of a group, fixed at join: every member must name the same.
struct GroupShape {
  GroupId group{};
  uint32_t epoch = 0;
  uint16_t members = 0;
  uint32_t chunk_bytes = 0;     // slot size of the streaming class
  uint32_t window = 0;          // its slots
  uint32_t latency_bytes = 0;   // largest operation of the latency class, 0: the class is off
  uint32_t latency_window = 0;  // its slots

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
  }
};

// A sentence if no group may have this shape.
Status check(const GroupShape& shape);

struct Join {
  static constexpr MessageType kType = MessageType::join;
  GroupShape shape;
  uint16_t rank = 0;
  std::string host;  // for texts: "gpu07, pid 4711"

  template <typename Self, typename Archive>
  static void fields(Self& self, Archive& archive) {
    GroupShape::fields(self.shape, archive);
    archive(self.rank);
    archive(self.host);
  }
};

struct Joined {
  static constexpr MessageType kType = MessageType::joined;
  uint16_t rank = 0;

  template <typename Self, typename Archive>
  static void fields(Self& self, Archive& archive) {
    archive(self.rank);
  }
};

enum class RefusalCode : uint16_t { full = 1, memory = 2, shape = 3, duplicate = 4, late = 5 };

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
  uint16_t rank = 0;

  template <typename Self, typename Archive>
  static void fields(Self& self, Archive& archive) {
    archive(self.rank);
  }
};

struct GroupError {
  static constexpr MessageType kType = MessageType::group_error;
  uint16_t member = kNoMember;  // whose fault it is
  std::string sentence;

  template <typename Self, typename Archive>
  static void fields(Self& self, Archive& archive) {
    archive(self.member);
    archive(self.sentence);
  }
};

}  // namespace sluice::sharp
