// SPDX-License-Identifier: Apache-2.0
#include "transport/tcp/frame.h"

#include "transport/checksum.h"

namespace sluice::transport::tcp {
namespace {

uint32_t checksum_of(const FrameHeader& header) {
  const auto* bytes = reinterpret_cast<const std::byte*>(&header);
  return checksum(bytes + sizeof header.checksum, sizeof header - sizeof header.checksum);
}

bool write_is_sound(const FrameHeader& header) {
  const bool first = header.position == 0;
  const bool piece_fits = header.position <= header.whole_size &&
                          header.piece_size <= header.whole_size - header.position;
  const bool not_empty = header.piece_size > 0 || header.whole_size == 0;
  return header.window < kMaxWindows && piece_fits && not_empty && header.piece_size <= kMaxPiece &&
         header.head_size <= (first ? kMaxRecord : 0);
}

bool is_sound(const FrameHeader& header) {
  if (header.type != static_cast<uint8_t>(FrameType::write) && header.piece_size != 0) return false;
  switch (static_cast<FrameType>(header.type)) {
    case FrameType::message:
      return header.head_size <= kMaxMessage;
    case FrameType::announcement: {
      const size_t windows = header.window * sizeof(WireWindow);
      return header.window <= kMaxWindowsPerNote && header.head_size >= windows &&
             header.head_size - windows <= kMaxNote;
    }
    case FrameType::write:
      return write_is_sound(header);
    case FrameType::acknowledgement:
      return header.head_size == 0;
    case FrameType::goodbye:
      return header.head_size <= kMaxGoodbye;
  }
  return false;
}

}  // namespace

void seal(FrameHeader& header) {
  header.checksum = checksum_of(header);
}

Status check(const FrameHeader& header) {
  if (header.checksum != checksum_of(header)) {
    return fail(ErrorKind::remote, "sent a frame whose header is damaged");
  }
  if (!is_sound(header)) {
    return fail(
        ErrorKind::remote,
        format_text("sent a frame that cannot be right (type %u, window %u, head of %u bytes, "
                    "piece of %u bytes)",
                    header.type, header.window, header.head_size, header.piece_size));
  }
  return {};
}

}  // namespace sluice::transport::tcp
