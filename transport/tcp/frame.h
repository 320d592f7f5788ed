// SPDX-License-Identifier: Apache-2.0
// What travels on a tcp stream: frames, each a fixed header, a head (message, note or record) and,
// for writes, a piece of payload. Little-endian. docs/transport.md has the table.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/result.h"
#include "transport/transport.h"

namespace sluice::transport::tcp {

enum class FrameType : uint8_t {
  message = 1,          // head: the message
  announcement = 2,     // head: `window` many WireWindows, then the note
  write = 3,            // head: the record (first piece only); then the payload
  acknowledgement = 4,  // nothing but the header
  goodbye = 5,          // head: why, as a sentence; empty when nothing is wrong
};

struct FrameHeader {
  uint32_t checksum = 0;  // of the rest of the header
  uint8_t type = 0;
  uint8_t wants_acknowledgement = 0;
  uint16_t head_size = 0;
  uint32_t window = 0;
  uint32_t piece_size = 0;
  uint64_t offset = 0;        // of the whole write in its window
  uint64_t whole_size = 0;    // of the whole write
  uint64_t position = 0;      // of this piece in the write
  uint64_t write_id = 0;      // counts from 0 per direction
  uint64_t acknowledged = 0;  // all writes below this id, of the other direction, have landed
};
static_assert(sizeof(FrameHeader) == 56);

struct WireWindow {
  uint64_t id = 0;
  uint64_t size = 0;
  uint64_t address = 0;
  uint64_t key = 0;
};

inline constexpr size_t kMaxHead = kMaxMessage;
inline constexpr size_t kMaxGoodbye = 256;
inline constexpr size_t kMaxPiece = 1 << 20;
inline constexpr size_t kMinPiece = 64 << 10;
// How far ids of writes may run ahead of the oldest one that has not landed.
inline constexpr uint64_t kMaxUnlanded = 4096;
// A receiver acknowledges at least this often, asked or not.
inline constexpr uint64_t kAcknowledgeEvery = 1024;
static_assert(kMaxHead <= UINT16_MAX && kAcknowledgeEvery < kMaxUnlanded);

void seal(FrameHeader& header);
// Whether a received header is one that we would send; says what is wrong as the rest of a
// sentence.
Status check(const FrameHeader& header);

}  // namespace sluice::transport::tcp
