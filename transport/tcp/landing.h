// SPDX-License-Identifier: Apache-2.0
// The receiver's book of incoming writes: which pieces make a whole, and up to which id all have
// landed. Pieces of one write come over several streams in any order. Thread rule: as its
// connection.
#pragma once

#include <array>
#include <bitset>
#include <cstring>
#include <unordered_map>

#include "base/result.h"
#include "transport/tcp/frame.h"

namespace sluice::transport::tcp {

class Landing {
 public:
  struct Whole {
    WindowId window = 0;
    uint64_t offset = 0;
    uint64_t size = 0;
    std::array<std::byte, kMaxRecord> record{};
    size_t record_size = 0;
  };

  // Before a piece's payload is read: may it come at all?
  Status expect(const FrameHeader& header) const;
  // A piece has landed; the whole write if this was its last piece.
  Result<const Whole*> piece_landed(const FrameHeader& header, std::span<const std::byte> record);

  // All writes below this id have landed.
  uint64_t landed_below() const { return base_; }
  // Pieces of writes that are not whole yet aim at this window.
  bool awaits(WindowId window) const;

 private:
  struct Assembly {
    Whole whole;
    uint64_t remaining = 0;
  };
  bool has_landed(uint64_t id) const { return id < base_ || landed_[id % kMaxUnlanded]; }
  void mark_landed(uint64_t id);

  uint64_t base_ = 0;
  std::bitset<kMaxUnlanded> landed_;
  std::unordered_map<uint64_t, Assembly> assemblies_;  // writes of several pieces, under way
  Whole finished_;
};

}  // namespace sluice::transport::tcp
