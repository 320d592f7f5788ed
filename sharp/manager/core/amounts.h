// SPDX-License-Identifier: Apache-2.0
// What an aggregation node has and a group takes: groups, memory for chunks, bandwidth.
#pragma once

#include <cstdint>

namespace sluice::manager {

struct Amounts {
  uint32_t groups = 0;
  uint64_t memory = 0;     // bytes of slots
  uint64_t bandwidth = 0;  // bytes/s that children send

  bool fits_into(const Amounts& room) const {
    return groups <= room.groups && memory <= room.memory && bandwidth <= room.bandwidth;
  }
  Amounts& operator+=(const Amounts& other) {
    groups += other.groups;
    memory += other.memory;
    bandwidth += other.bandwidth;
    return *this;
  }
  Amounts& operator-=(const Amounts& other) {
    groups -= other.groups;
    memory -= other.memory;
    bandwidth -= other.bandwidth;
    return *this;
  }
  friend Amounts operator+(Amounts a, const Amounts& b) { return a += b; }
  // a - b, not below zero.
  friend Amounts less(const Amounts& a, const Amounts& b) {
    return {a.groups > b.groups ? a.groups - b.groups : 0,
            a.memory > b.memory ? a.memory - b.memory : 0,
            a.bandwidth > b.bandwidth ? a.bandwidth - b.bandwidth : 0};
  }
  friend bool operator==(const Amounts&, const Amounts&) = default;
};

}  // namespace sluice::manager
