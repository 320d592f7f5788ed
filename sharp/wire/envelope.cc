// SPDX-License-Identifier: Apache-2.0
#include "sharp/wire/envelope.h"

#include "sharp/wire/crc32c.h"

namespace sluice::sharp {
namespace {

constexpr size_t kChecksummed = 12;  // bytes of the envelope that its own checksum covers

}  // namespace

Message seal(MessageType type, std::span<const std::byte> body) {
  Message message;
  message.reserve(kEnvelopeSize + body.size());
  Writer writer(message);
  writer(kControlMagic);
  writer(kWireVersion);
  writer(type);
  writer(static_cast<uint32_t>(body.size()));
  writer(crc32c(body, crc32c(message)));
  message.insert(message.end(), body.begin(), body.end());
  return message;
}

Result<Envelope> open_envelope(std::span<const std::byte> message) {
  if (message.size() < kEnvelopeSize || message.size() > kMaxControlMessage) {
    return fail(ErrorKind::remote,
                format_text("control message of %zu bytes is not possible", message.size()));
  }
  uint32_t magic = 0;
  uint16_t version = 0;
  MessageType type{};
  uint32_t body_size = 0;
  uint32_t checksum = 0;
  Reader reader(message.first(kEnvelopeSize));
  reader(magic);
  reader(version);
  reader(type);
  reader(body_size);
  reader(checksum);
  if (magic != kControlMagic) {
    return fail(ErrorKind::remote, format_text("not a message of Sluice (magic %08x)", magic));
  }
  if (version != kWireVersion) {
    return fail(ErrorKind::remote, format_text("protocol version %u, but this side speaks %u",
                                               unsigned{version}, unsigned{kWireVersion}));
  }
  const auto body = message.subspan(kEnvelopeSize);
  if (body_size != body.size()) {
    return fail(ErrorKind::remote,
                format_text("control message claims %u bytes and has %zu", body_size, body.size()));
  }
  if (checksum != crc32c(body, crc32c(message.first(kChecksummed)))) {
    return fail(ErrorKind::remote, "control message with a wrong checksum");
  }
  return Envelope{type, body};
}

}  // namespace sluice::sharp
