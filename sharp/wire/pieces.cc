// SPDX-License-Identifier: Apache-2.0
#include "sharp/wire/pieces.h"

#include <algorithm>

namespace sluice::sharp {

std::vector<Message> cut_into_pieces(MessageType type, std::span<const std::byte> body) {
  std::vector<Message> pieces;
  std::vector<std::byte> piece;
  do {
    const size_t size = std::min(body.size(), kMaxPiece);
    const bool more = size < body.size();
    piece.assign(1, static_cast<std::byte>(more ? 1 : 0));
    piece.insert(piece.end(), body.begin(), body.begin() + static_cast<std::ptrdiff_t>(size));
    pieces.push_back(seal(type, piece));
    body = body.subspan(size);
  } while (!body.empty());
  return pieces;
}

Result<std::optional<Envelope>> PieceCollector::add(std::span<const std::byte> message) {
  const auto envelope = open_envelope(message);
  if (!envelope) return fail(envelope.error());
  if (envelope->body.empty() || envelope->body.front() > std::byte{1}) {
    return fail(ErrorKind::remote, format_text("a piece of a message of type %u is garbled",
                                               static_cast<unsigned>(envelope->type)));
  }
  if (open_ && envelope->type != type_) {
    return fail(ErrorKind::remote,
                format_text("a message of type %u came amid the pieces of one of type %u",
                            static_cast<unsigned>(envelope->type), static_cast<unsigned>(type_)));
  }
  if (!open_) body_.clear();
  const auto piece = envelope->body.subspan(1);
  if (body_.size() + piece.size() > kMaxLongBody) {
    return fail(ErrorKind::remote,
                format_text("a message of type %u has more than %zu bytes",
                            static_cast<unsigned>(envelope->type), kMaxLongBody));
  }
  type_ = envelope->type;
  open_ = envelope->body.front() == std::byte{1};
  body_.insert(body_.end(), piece.begin(), piece.end());
  if (open_) return std::optional<Envelope>();
  return std::optional(Envelope{type_, body_});
}

}  // namespace sluice::sharp
