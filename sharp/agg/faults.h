// SPDX-License-Identifier: Apache-2.0
// Faults that a node commits on purpose, so that the checks of others have something to find. Only
// in builds with SLUICE_FAULT_INJECTION; otherwise all of it is empty. Thread rule: one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <random>
#include <span>
#include <vector>

namespace sluice::sharp {

struct FaultPlan {
  uint64_t flip_one_bit_in = 0;  // chunks: wrong arithmetic, under a right checksum; 0: never
  uint64_t corrupt_one_in = 0;   // chunks: damage on the wire; 0: never
  uint32_t seed = 1;
};

#ifdef SLUICE_FAULT_INJECTION

class Faults {
 public:
  explicit Faults(const FaultPlan& plan) : plan_(plan), random_(plan.seed) {}

  // True: a bit of the result is wrong now.
  bool flip(std::span<std::byte> result) {
    if (!hits(plan_.flip_one_bit_in) || result.empty()) return false;
    flip_a_bit(result);
    return true;
  }
  // What is to be sent instead of `payload`: itself, or a damaged copy that lives for a while.
  const std::byte* on_the_wire(std::span<const std::byte> payload) {
    if (!hits(plan_.corrupt_one_in) || payload.empty()) return payload.data();
    if (damaged_.size() == kKept) damaged_.pop_front();
    damaged_.emplace_back(payload.begin(), payload.end());
    flip_a_bit(damaged_.back());
    return damaged_.back().data();
  }

 private:
  static constexpr size_t kKept = 1024;  // far more than one connection has in flight

  bool hits(uint64_t one_in) { return one_in != 0 && random_() % one_in == 0; }
  void flip_a_bit(std::span<std::byte> bytes) {
    const uint64_t bit = random_() % (bytes.size() * 8);
    bytes[bit / 8] ^= static_cast<std::byte>(1 << (bit % 8));
  }

  FaultPlan plan_;
  std::mt19937_64 random_;
  std::deque<std::vector<std::byte>> damaged_;
};

#else

class Faults {
 public:
  explicit Faults(const FaultPlan&) {}
  bool flip(std::span<std::byte>) { return false; }
  const std::byte* on_the_wire(std::span<const std::byte> payload) { return payload.data(); }
};

#endif

}  // namespace sluice::sharp
