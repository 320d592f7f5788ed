// SPDX-License-Identifier: Apache-2.0
// Messages among the ranks of a communicator that reduces by libsharp, all to or from rank 0.
//
// Order: OutOfBandHello up; then pieces of out-of-band collectives both ways, and, once per step of
// the set-up, Vote up and Decision down (sharp/wire/rendezvous.h). A no may come at any time, also
// after the last step: a Vote no tells rank 0 of trouble, a Decision no tells the others. Farewell
// is the last word of whoever goes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "sharp/wire/envelope.h"

namespace sluice::sharp::libsharp {

struct OutOfBandHello {
  static constexpr MessageType kType = MessageType::out_of_band_hello;
  uint16_t rank = 0;
  uint16_t ranks = 0;
  uint32_t time_left_ms = 0;  // until this rank gives up waiting for the others
  std::string host;

  template <typename Self, typename Archive>
  static void fields(Self& self, Archive& archive) {
    archive(self.rank);
    archive(self.ranks);
    archive(self.time_left_ms);
    archive(self.host);
  }
};

// A piece of what one rank sends in one collective; the bytes follow.
struct OutOfBandPiece {
  static constexpr MessageType kType = MessageType::out_of_band_piece;
  uint32_t number = 0;  // of the collective, counted alike by all ranks
  uint32_t total = 0;   // bytes of all pieces
  uint32_t offset = 0;  // of this one

  template <typename Self, typename Archive>
  static void fields(Self& self, Archive& archive) {
    archive(self.number);
    archive(self.total);
    archive(self.offset);
  }
};
inline constexpr size_t kPieceHeader = 12;
inline constexpr size_t kPieceBytes = kMaxControlMessage - kEnvelopeSize - kPieceHeader;

// What one rank may send in one collective, and what a rank keeps for collectives it has not come
// to; libsharp sends some hundred bytes.
inline constexpr size_t kMaxOutOfBandBytes = size_t{64} << 20;

}  // namespace sluice::sharp::libsharp
