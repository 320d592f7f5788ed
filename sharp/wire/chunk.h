// SPDX-License-Identifier: Apache-2.0
// The header of a chunk, up and down: the record of a write (streaming class) or the head of a
// message whose rest is the payload (latency class).
//
//    0  u32 magic "SLCK"      4  u16 version     6  u8 class        7  u8 flags (kNoResult, ...)
//    8  group id, 16 bytes   24  u32 epoch      28  u8 data type   29  u8 operator   30  u16 child
//   32  u64 sequence         40  u64 operation  48  u64 bytes of the whole operation
//   56  u64 offset of the chunk in it           64  u32 bytes of the chunk
//   68  u32 result window    72  u8 collective  73  u8 0           74  u16 focus
//   76  u32 payload bytes    80  u32 crc32c of the payload         84  u32 0
//   88  u64 claimed value    96  u64 claimed bound                104  u32 crc32c of bytes 0..103
//
// Little endian. Encoding and decoding are per chunk, so they work on a fixed array, without
// allocation.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/result.h"
#include "sharp/wire/group_id.h"
#include "sharp/wire/types.h"

namespace sluice::sharp {

inline constexpr uint32_t kChunkMagic = 0x4b434c53;  // "SLCK"
inline constexpr size_t kChunkHeaderSize = 108;

// Flags.
inline constexpr uint8_t kNoResult = 1;     // up: the sender wants the record of the result only
inline constexpr uint8_t kPartialForm = 2;  // up: the payload holds fp32 partial sums
inline constexpr uint8_t kClaimed = 4;      // the claim below is there
inline constexpr uint8_t kChunkFlags = kNoResult | kPartialForm | kClaimed;

// What a chunk's payload must amount to, computed by the ranks from their inputs and combined on
// the way by the nodes, apart from the payloads (sharp/verify/fingerprint.h).
struct Claim {
  uint64_t value = 0;
  uint64_t bound = 0;

  bool operator==(const Claim&) const = default;
};

enum class TrafficClass : uint8_t { latency = 0, streaming = 1 };
inline constexpr int kTrafficClasses = 2;
const char* name_of(TrafficClass traffic_class);

struct ChunkHeader {
  TrafficClass traffic_class = TrafficClass::streaming;
  uint8_t flags = 0;
  GroupId group{};
  uint32_t epoch = 0;
  DataType type = DataType::int8;
  ReduceOperator reduce_operator = ReduceOperator::sum;
  uint16_t child = 0;      // of the node: who sends on the way up, who receives on the way down
  uint64_t sequence = 0;   // number of the chunk in its group, epoch and class
  uint64_t operation = 0;  // number of the operation in its group, over both classes
  uint64_t operation_bytes = 0;  // the whole operation
  uint64_t offset = 0;           // of this chunk in it
  uint32_t bytes = 0;            // of this chunk, in elements of `type`
  uint32_t result_window = 0;    // streaming: the rank's window for the results of the operation
  Collective collective = Collective::allreduce;
  uint16_t focus = 0;          // rank; gather and scatter
  uint32_t payload_bytes = 0;  // that travel with this header: 0, `bytes`, or those of the partials
  uint32_t payload_crc = 0;
  Claim claim;  // with kClaimed
};

// Types whose partial sums may travel as fp32 (Precision::exact): fp16, bf16 and fp8.
bool travels_as_partial(DataType type);
// Bytes of the payload when there is one: of the elements, or of the partials.
uint32_t full_payload(const ChunkHeader& header);

using EncodedChunkHeader = std::array<std::byte, kChunkHeaderSize>;

EncodedChunkHeader encode(const ChunkHeader& header);
// Checks magic, version, checksum, enumerators, that the chunk lies within its operation in whole
// elements, and that the payload has a length that such a chunk can have.
Result<ChunkHeader> decode_chunk(std::span<const std::byte> bytes);
// Tells a chunk from a control message.
bool starts_as_chunk(std::span<const std::byte> message);

// What travels with a rank's announcement of a result window.
inline constexpr uint32_t kResultNoteMagic = 0x4e434c53;  // "SLCN"
inline constexpr size_t kResultNoteSize = 16;
using EncodedResultNote = std::array<std::byte, kResultNoteSize>;
EncodedResultNote encode_result_note(uint64_t operation);
Result<uint64_t> decode_result_note(std::span<const std::byte> note);

}  // namespace sluice::sharp
