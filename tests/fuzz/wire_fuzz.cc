// SPDX-License-Identifier: Apache-2.0
// Every decoder of the wire, with bytes as they are and with a right envelope around them. What
// can be decoded must come out of its own encoding unchanged.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "sharp/wire/chunk.h"
#include "sharp/wire/crc32c.h"
#include "sharp/wire/envelope.h"
#include "sharp/wire/management.h"
#include "sharp/wire/membership.h"
#include "sharp/wire/pieces.h"
#include "sharp/wire/reform.h"
#include "sharp/wire/rendezvous.h"
#include "tests/fuzz/input.h"

namespace {

using namespace sluice::sharp;  // NOLINT: the whole wire is at stake

template <typename T>
void decode_as(std::span<const std::byte> body) {
  const Message message = seal(T::kType, body);
  const auto value = decode<T>(Envelope{T::kType, body});
  if (!value) return;
  const Message again = encode(*value);
  // Texts lose what cannot be printed, once; after that nothing changes any more.
  const auto twice = decode<T>(Envelope{T::kType, std::span(again).subspan(kEnvelopeSize)});
  if (!twice || encode(*twice) != again) std::abort();
  if (message.size() <= kMaxControlMessage && !open_envelope(message)) std::abort();
}

template <typename... T>
void decode_as_one_of(uint32_t which, std::span<const std::byte> body) {
  uint32_t at = 0;
  ((at++ == which ? decode_as<T>(body) : void()), ...);
}

void decode_chunk_with_checksum(std::span<const std::byte> bytes) {
  EncodedChunkHeader header = encode(ChunkHeader{});
  std::copy_n(bytes.begin(), std::min(bytes.size(), header.size() - sizeof(uint32_t)),
              header.begin());
  // The frame right, so that the fields are looked at.
  const EncodedChunkHeader frame = encode(ChunkHeader{});
  std::copy_n(frame.begin(), 6, header.begin());
  const uint32_t crc =
      crc32c(std::span<const std::byte>(header).first(header.size() - sizeof(uint32_t)));
  std::memcpy(header.data() + header.size() - sizeof crc, &crc, sizeof crc);
  const auto decoded = decode_chunk(header);
  if (decoded && !decode_chunk(encode(*decoded))) std::abort();
}

// A stream of messages, each after its 16-bit length.
void collect_pieces(std::span<const std::byte> bytes) {
  sluice::fuzz::Input input(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
  PieceCollector collector;
  while (!input.empty()) {
    const auto type = static_cast<MessageType>(64 + input.below(16));
    const Message message = seal(type, input.take(input.number<uint16_t>() % kMaxPiece));
    const auto body = collector.add(message);
    if (!body) return;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  sluice::fuzz::Input input(data, size);
  const uint32_t which = input.below(32);
  const auto body = input.rest();
  static_cast<void>(open_envelope(body));
  static_cast<void>(decode_chunk(body));
  static_cast<void>(decode_result_note(body));
  collect_pieces(body);
  decode_chunk_with_checksum(body);
  decode_as_one_of<Hello, Plan, Vote, Decision, Farewell, Join, Joined, Refused, Leave, GroupError,
                   Resend, Trouble, Pause, Standing, Prepare, Ready, Resume, Fatal, TreeAsk,
                   TreeGrant, TreeDenied, Revoke, Release, Renew, Renewed, TreesAvailable,
                   NodeRegister, NodeRegistered, NodeGroups, NodeCommand>(which, body);
  return 0;
}
