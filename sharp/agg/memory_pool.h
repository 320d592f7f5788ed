// SPDX-License-Identifier: Apache-2.0
// The memory that an aggregation node lends to its groups.
//
// A group reserves addresses for as long as it lives, and owns memory only while it works: an idle
// group gives its pages back. Both sums are bounded, the reserved bytes at admission, the active
// ones when a group wakes up. Thread rule: one thread. A reservation must not outlive its pool.
// Sizes are bytes.
#pragma once

#include <cstddef>
#include <span>
#include <utility>

#include "base/result.h"

namespace sluice::sharp {

class MemoryPool {
 public:
  MemoryPool(size_t active_limit, size_t reserved_limit)
      : active_limit_(active_limit), reserved_limit_(reserved_limit) {}
  MemoryPool(const MemoryPool&) = delete;
  MemoryPool& operator=(const MemoryPool&) = delete;

  class Reservation {
   public:
    Reservation() = default;
    Reservation(Reservation&& other) noexcept
        : pool_(std::exchange(other.pool_, nullptr)),
          memory_(std::exchange(other.memory_, {})),
          active_(std::exchange(other.active_, false)) {}
    Reservation& operator=(Reservation&& other) noexcept {
      std::swap(pool_, other.pool_);
      std::swap(memory_, other.memory_);
      std::swap(active_, other.active_);
      return *this;
    }
    Reservation(const Reservation&) = delete;
    Reservation& operator=(const Reservation&) = delete;
    ~Reservation();

    std::span<std::byte> memory() const { return memory_; }
    bool active() const { return active_; }
    // True: the memory may be used. False: the pool has no room for it now.
    bool activate();
    // Gives the pages back; what was in them is lost.
    void rest();

   private:
    friend class MemoryPool;
    Reservation(MemoryPool* pool, std::span<std::byte> memory) : pool_(pool), memory_(memory) {}
    MemoryPool* pool_ = nullptr;
    std::span<std::byte> memory_;
    bool active_ = false;
  };

  bool can_reserve(size_t bytes) const {
    return bytes <= active_limit_ && bytes <= reserved_limit_ - reserved_;
  }
  bool can_activate(size_t bytes) const { return bytes <= active_limit_ - active_; }
  // ErrorKind::refused when there is no room.
  Result<Reservation> reserve(size_t bytes);
  size_t reserved() const { return reserved_; }
  size_t reserved_limit() const { return reserved_limit_; }
  size_t active() const { return active_; }
  size_t active_limit() const { return active_limit_; }

 private:
  size_t active_limit_;
  size_t reserved_limit_;
  size_t active_ = 0;
  size_t reserved_ = 0;
};

}  // namespace sluice::sharp
