// SPDX-License-Identifier: Apache-2.0
// The envelope of every control message: what kind it is, how long, and a checksum over all of it.
//
//   0  magic "SLCT"   4  version   6  type   8  body bytes   12  crc32c of bytes 0..11 and the body
//   16  body
//
// Decoding trusts nothing: a message that is short, long, garbled, of another version or of an
// unexpected type is an Error with a sentence.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "sharp/wire/archive.h"

namespace sluice::sharp {

inline constexpr uint16_t kWireVersion = 2;
inline constexpr uint32_t kControlMagic = 0x54434c53;  // "SLCT"
inline constexpr size_t kEnvelopeSize = 16;
inline constexpr size_t kMaxControlMessage = 4096;

enum class MessageType : uint16_t {
  // rank to rank, at the rendezvous
  hello = 1,
  plan = 2,
  vote = 3,
  decision = 4,
  farewell = 5,
  // child (rank or node) to node and back
  join = 16,
  joined = 17,
  refused = 18,
  leave = 19,
  group_error = 20,
  resend = 21,
  // among the ranks of a group, when its tree is re-formed (reform.h)
  trouble = 32,
  pause = 33,
  standing = 34,
  prepare = 35,
  ready = 36,
  resume = 37,
  fatal = 38,
  departure = 39,
  // among the ranks that reduce by NVIDIA's SHARP (libsharp/messages.h)
  out_of_band_hello = 48,
  out_of_band_piece = 49,
  // to and from the manager (management.h): clients
  tree_ask = 64,
  tree_grant = 65,
  tree_denied = 66,
  revoke = 67,
  release = 68,
  renew = 69,
  renewed = 70,
  trees_available = 71,
  // and nodes
  node_register = 80,
  node_registered = 81,
  node_groups = 82,
  node_command = 83,
};

using Message = std::vector<std::byte>;

struct Envelope {
  MessageType type{};
  std::span<const std::byte> body;  // into the message
};

Message seal(MessageType type, std::span<const std::byte> body);
Result<Envelope> open_envelope(std::span<const std::byte> message);

// T::kType says which message a structure is the body of.
template <typename T>
Message encode(const T& value) {
  std::vector<std::byte> body;
  Writer writer(body);
  T::fields(value, writer);
  return seal(T::kType, body);
}

template <typename T>
Result<T> decode(const Envelope& envelope) {
  if (envelope.type != T::kType) {
    return fail(ErrorKind::remote,
                format_text("unexpected message of type %u where type %u was due",
                            static_cast<unsigned>(envelope.type), static_cast<unsigned>(T::kType)));
  }
  T value;
  Reader reader(envelope.body);
  T::fields(value, reader);
  if (!reader.complete()) {
    return fail(ErrorKind::remote,
                format_text("message of type %u has a wrong length of %zu bytes",
                            static_cast<unsigned>(envelope.type), envelope.body.size()));
  }
  return value;
}

}  // namespace sluice::sharp
