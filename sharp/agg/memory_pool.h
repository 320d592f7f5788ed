// SPDX-License-Identifier: Apache-2.0
// The memory that an aggregation node lends to its groups: a bounded total, page-aligned leases.
//
// Thread rule: one thread. A lease must not outlive its pool. Sizes are bytes.
#pragma once

#include <cstddef>
#include <span>
#include <utility>

#include "base/result.h"

namespace sluice::sharp {

class MemoryPool {
 public:
  explicit MemoryPool(size_t limit) : limit_(limit) {}
  MemoryPool(const MemoryPool&) = delete;
  MemoryPool& operator=(const MemoryPool&) = delete;

  class Lease {
   public:
    Lease() = default;
    Lease(Lease&& other) noexcept
        : pool_(std::exchange(other.pool_, nullptr)), memory_(std::exchange(other.memory_, {})) {}
    Lease& operator=(Lease&& other) noexcept {
      std::swap(pool_, other.pool_);
      std::swap(memory_, other.memory_);
      return *this;
    }
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
    ~Lease();

    std::span<std::byte> memory() const { return memory_; }

   private:
    friend class MemoryPool;
    Lease(MemoryPool* pool, std::span<std::byte> memory) : pool_(pool), memory_(memory) {}
    MemoryPool* pool_ = nullptr;
    std::span<std::byte> memory_;
  };

  bool has_room_for(size_t bytes) const { return bytes <= limit_ - used_; }
  // The pages are touched when they are used. ErrorKind::refused when there is no room.
  Result<Lease> lease(size_t bytes);
  size_t used() const { return used_; }
  size_t limit() const { return limit_; }

 private:
  size_t limit_;
  size_t used_ = 0;
};

}  // namespace sluice::sharp
