// SPDX-License-Identifier: Apache-2.0
// What message channels put into announcements and records. Little-endian on every host that runs
// Sluice.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>

#include "transport/messages/channel.h"

namespace sluice::transport {

static_assert(std::endian::native == std::endian::little);

// Travels with the announcement of a grouped receive; its windows are the buffers, in order.
struct GroupNote {
  uint32_t magic = 0x50524753;  // "SGRP"
  uint16_t slot = 0;            // receive request, 0..kMaxReceiveGroups-1
  uint16_t count = 0;           // 1..kMaxGroup
  uint32_t generation = 0;      // of the slot: tells a late write from a new one
  int32_t tags[kMaxGroup] = {};
};
static_assert(sizeof(GroupNote) == 44 && sizeof(GroupNote) <= kMaxNote);

// Travels with the write of one message.
struct MessageRecord {
  uint32_t magic = 0x47534d53;  // "SMSG"
  uint16_t slot = 0;
  uint16_t buffer = 0;  // index in the group
  uint32_t generation = 0;
  uint32_t reserved = 0;
  uint64_t size = 0;  // bytes written; at most the buffer's size
};
static_assert(sizeof(MessageRecord) == 24 && sizeof(MessageRecord) <= kMaxRecord);

template <typename T>
requires std::is_trivially_copyable_v<T> std::span<const std::byte> bytes_of(const T& value) {
  return std::as_bytes(std::span<const T, 1>(&value, 1));
}

// False when the size or the magic number is wrong.
template <typename T>
requires std::is_trivially_copyable_v<T>
bool read_into(T& value, std::span<const std::byte> bytes) {
  const uint32_t magic = T{}.magic;
  if (bytes.size() != sizeof(T)) return false;
  std::memcpy(&value, bytes.data(), sizeof(T));
  return value.magic == magic;
}

constexpr WindowId window_of(uint32_t slot, uint32_t buffer) {
  return slot * kMaxGroup + buffer;
}
static_assert(window_of(kMaxReceiveGroups - 1, kMaxGroup - 1) < kMaxWindows);

}  // namespace sluice::transport
