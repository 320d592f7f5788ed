// SPDX-License-Identifier: Apache-2.0
#include "sharp/wire/chunk.h"

#include <cstring>

#include "sharp/wire/crc32c.h"
#include "sharp/wire/envelope.h"

namespace sluice::sharp {
namespace {

constexpr size_t kChecksumAt = 104;

template <typename T>
void put(std::span<std::byte> out, size_t at, T value) {
  for (size_t byte = 0; byte < sizeof(T); ++byte) {
    out[at + byte] = static_cast<std::byte>(value >> (8 * byte));
  }
}

template <typename T>
T get(std::span<const std::byte> in, size_t at) {
  T value = 0;
  for (size_t byte = 0; byte < sizeof(T); ++byte) {
    value = static_cast<T>(value | static_cast<T>(static_cast<T>(in[at + byte]) << (8 * byte)));
  }
  return value;
}

Status check_frame(std::span<const std::byte> bytes) {
  if (bytes.size() != kChunkHeaderSize) {
    return fail(ErrorKind::remote, format_text("chunk header of %zu bytes, %zu were due",
                                               bytes.size(), kChunkHeaderSize));
  }
  if (!starts_as_chunk(bytes)) return fail(ErrorKind::remote, "chunk header with a wrong magic");
  const auto version = get<uint16_t>(bytes, 4);
  if (version != kWireVersion) {
    return fail(ErrorKind::remote, format_text("chunk of protocol version %u, this side speaks %u",
                                               unsigned{version}, unsigned{kWireVersion}));
  }
  if (get<uint32_t>(bytes, kChecksumAt) != crc32c(bytes.first(kChecksumAt))) {
    return fail(ErrorKind::remote, "chunk header with a wrong checksum");
  }
  return {};
}

Status check_content(const ChunkHeader& header) {
  if (static_cast<int>(header.traffic_class) >= kTrafficClasses ||
      static_cast<int>(header.type) >= kDataTypes ||
      static_cast<int>(header.reduce_operator) >= kReduceOperators ||
      static_cast<int>(header.collective) >= kCollectives || (header.flags & ~kChunkFlags) != 0) {
    return fail(
        ErrorKind::remote,
        format_text("chunk of unknown class %u, type %u, operator %u, collective %u or "
                    "flags %02x",
                    static_cast<unsigned>(header.traffic_class), static_cast<unsigned>(header.type),
                    static_cast<unsigned>(header.reduce_operator),
                    static_cast<unsigned>(header.collective), unsigned{header.flags}));
  }
  const uint64_t element = size_of(header.type);
  const bool inside = header.bytes > 0 && header.offset <= header.operation_bytes &&
                      header.bytes <= header.operation_bytes - header.offset;
  if (!inside || header.bytes % element != 0 || header.offset % element != 0 ||
      header.operation_bytes % element != 0) {
    return fail(
        ErrorKind::remote,
        format_text("chunk of %u bytes at %llu does not fit an operation of %llu bytes of %s",
                    header.bytes, static_cast<unsigned long long>(header.offset),
                    static_cast<unsigned long long>(header.operation_bytes), name_of(header.type)));
  }
  if (header.payload_bytes != 0 && header.payload_bytes != full_payload(header)) {
    return fail(ErrorKind::remote,
                format_text("chunk of %u bytes of %s with a payload of %u", header.bytes,
                            name_of(header.type), header.payload_bytes));
  }
  return {};
}

}  // namespace

const char* name_of(TrafficClass traffic_class) {
  return traffic_class == TrafficClass::latency ? "latency" : "streaming";
}

bool travels_as_partial(DataType type) {
  return size_of(type) <= 2 && type != DataType::int8 && type != DataType::uint8;
}

uint32_t full_payload(const ChunkHeader& header) {
  const bool partial = (header.flags & kPartialForm) != 0 && travels_as_partial(header.type);
  const auto elements = header.bytes / static_cast<uint32_t>(size_of(header.type));
  return partial ? elements * static_cast<uint32_t>(sizeof(float)) : header.bytes;
}

EncodedChunkHeader encode(const ChunkHeader& header) {
  EncodedChunkHeader out{};
  put(out, 0, kChunkMagic);
  put(out, 4, kWireVersion);
  put(out, 6, static_cast<uint8_t>(header.traffic_class));
  put(out, 7, header.flags);
  std::memcpy(out.data() + 8, header.group.data(), header.group.size());
  put(out, 24, header.epoch);
  put(out, 28, static_cast<uint8_t>(header.type));
  put(out, 29, static_cast<uint8_t>(header.reduce_operator));
  put(out, 30, header.child);
  put(out, 32, header.sequence);
  put(out, 40, header.operation);
  put(out, 48, header.operation_bytes);
  put(out, 56, header.offset);
  put(out, 64, header.bytes);
  put(out, 68, header.result_window);
  put(out, 72, static_cast<uint8_t>(header.collective));
  put(out, 74, header.focus);
  put(out, 76, header.payload_bytes);
  put(out, 80, header.payload_crc);
  put(out, 88, header.claim.value);
  put(out, 96, header.claim.bound);
  put(out, kChecksumAt, crc32c(std::span<const std::byte>(out).first(kChecksumAt)));
  return out;
}

Result<ChunkHeader> decode_chunk(std::span<const std::byte> bytes) {
  SLUICE_RETURN_IF_ERROR(check_frame(bytes));
  ChunkHeader header;
  header.traffic_class = static_cast<TrafficClass>(get<uint8_t>(bytes, 6));
  header.flags = get<uint8_t>(bytes, 7);
  std::memcpy(header.group.data(), bytes.data() + 8, header.group.size());
  header.epoch = get<uint32_t>(bytes, 24);
  header.type = static_cast<DataType>(get<uint8_t>(bytes, 28));
  header.reduce_operator = static_cast<ReduceOperator>(get<uint8_t>(bytes, 29));
  header.child = get<uint16_t>(bytes, 30);
  header.sequence = get<uint64_t>(bytes, 32);
  header.operation = get<uint64_t>(bytes, 40);
  header.operation_bytes = get<uint64_t>(bytes, 48);
  header.offset = get<uint64_t>(bytes, 56);
  header.bytes = get<uint32_t>(bytes, 64);
  header.result_window = get<uint32_t>(bytes, 68);
  header.collective = static_cast<Collective>(get<uint8_t>(bytes, 72));
  header.focus = get<uint16_t>(bytes, 74);
  header.payload_bytes = get<uint32_t>(bytes, 76);
  header.payload_crc = get<uint32_t>(bytes, 80);
  header.claim = {get<uint64_t>(bytes, 88), get<uint64_t>(bytes, 96)};
  SLUICE_RETURN_IF_ERROR(check_content(header));
  return header;
}

bool starts_as_chunk(std::span<const std::byte> message) {
  return message.size() >= sizeof(uint32_t) && get<uint32_t>(message, 0) == kChunkMagic;
}

EncodedResultNote encode_result_note(uint64_t operation) {
  EncodedResultNote note{};
  put(note, 0, kResultNoteMagic);
  put(note, 4, kWireVersion);
  put(note, 8, operation);
  return note;
}

Result<uint64_t> decode_result_note(std::span<const std::byte> note) {
  if (note.size() != kResultNoteSize || get<uint32_t>(note, 0) != kResultNoteMagic ||
      get<uint16_t>(note, 4) != kWireVersion) {
    return fail(ErrorKind::remote, "result window announced with a note of another protocol");
  }
  return get<uint64_t>(note, 8);
}

}  // namespace sluice::sharp
