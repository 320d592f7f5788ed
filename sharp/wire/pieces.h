// SPDX-License-Identifier: Apache-2.0
// Bodies that may be longer than one control message: cut into pieces, put together again.
//
// Each piece is an envelope of the body's type; its first byte says whether more follow. Pieces of
// one body follow each other without anything in between. The receiver bounds what it collects.
// Thread rule: as any value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/result.h"
#include "sharp/wire/envelope.h"

namespace sluice::sharp {

inline constexpr size_t kMaxPiece = kMaxControlMessage - kEnvelopeSize - 1;
inline constexpr size_t kMaxLongBody = size_t{1} << 20;

std::vector<Message> cut_into_pieces(MessageType type, std::span<const std::byte> body);

template <typename T>
std::vector<Message> encode_pieces(const T& value) {
  std::vector<std::byte> body;
  Writer writer(body);
  T::fields(value, writer);
  return cut_into_pieces(T::kType, body);
}

class PieceCollector {
 public:
  // Nothing: more pieces are due. The body of the envelope lies in this object, until the next
  // call.
  Result<std::optional<Envelope>> add(std::span<const std::byte> message);

 private:
  std::vector<std::byte> body_;
  MessageType type_{};
  bool open_ = false;  // more pieces are due
};

}  // namespace sluice::sharp
