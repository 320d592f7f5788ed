// SPDX-License-Identifier: Apache-2.0
// Numbers by which the manager's core names things: each kind of thing has a type of its own.
//
// Numbers are dense, given in the order of appearance, and never reused while the process lives;
// names survive a restart, numbers do not (snapshot.h keeps names).
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>

namespace sluice::manager {

template <typename Tag>
struct Id {
  static constexpr uint32_t kNone = 0xffffffff;
  uint32_t value = kNone;

  constexpr bool valid() const { return value != kNone; }
  constexpr size_t index() const { return value; }
  // NOLINTNEXTLINE(modernize-use-nullptr): clang-tidy 14 misreads what the compiler writes here
  friend constexpr auto operator<=>(const Id&, const Id&) = default;
};

using SwitchId = Id<struct SwitchTag>;
using HostId = Id<struct HostTag>;
using NodeId = Id<struct NodeTag>;
using TenantId = Id<struct TenantTag>;

// A lease: its place in the table and how often the place has been used, so that a late message
// about a lease that ended never hits its successor.
struct LeaseId {
  uint32_t slot = 0xffffffff;
  uint32_t generation = 0;

  constexpr bool valid() const { return slot != 0xffffffff; }
  constexpr uint64_t number() const { return uint64_t{generation} << 32 | slot; }  // on the wire
  static constexpr LeaseId of(uint64_t number) {
    return {static_cast<uint32_t>(number), static_cast<uint32_t>(number >> 32)};
  }
  // NOLINTNEXTLINE(modernize-use-nullptr): clang-tidy 14 misreads what the compiler writes here
  friend constexpr auto operator<=>(const LeaseId&, const LeaseId&) = default;
};

}  // namespace sluice::manager
