// SPDX-License-Identifier: Apache-2.0
#include "sharp/agg/reducer.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "sharp/reduce/reduce.h"
#include "sharp/wire/crc32c.h"
#include "sharp/wire/limits.h"

namespace sluice::sharp {
namespace {

using transport::Confirm;
using transport::LocalWindow;
using transport::RemoteWindow;
using transport::Write;

constexpr uint64_t kResultsPerSlot = 2;

}  // namespace

uint64_t Reducer::memory_for(const GroupShape& shape) {
  const uint64_t streaming =
      (shape.members + kResultsPerSlot) * shape.window * uint64_t{shape.chunk_bytes};
  const uint64_t latency = uint64_t{shape.members} * shape.latency_window * shape.latency_bytes;
  return streaming + latency;
}

Reducer::Reducer(const GroupShape& shape, std::span<std::byte> memory, DataCounters& counters)
    : shape_(shape),
      memory_(memory),
      counters_(counters),
      members_(shape.members),
      inputs_(shape.members),
      holders_(kResultsPerSlot * shape.window) {
  rings_.emplace_back(shape.latency_window, shape.members);
  rings_.emplace_back(shape.window, shape.members);
  for (uint32_t result = 0; result < holders_.size(); ++result) free_.push_back(result);
}

// Memory: members x W streaming slots, then the results, then members x W' latency slots.
std::byte* Reducer::slot_address(TrafficClass traffic_class, uint16_t rank, uint32_t slot) {
  if (traffic_class == TrafficClass::streaming) {
    return memory_.data() + (uint64_t{rank} * shape_.window + slot) * shape_.chunk_bytes;
  }
  std::byte* latency = result_address(static_cast<uint32_t>(holders_.size()));
  return latency + (uint64_t{rank} * shape_.latency_window + slot) * shape_.latency_bytes;
}

std::byte* Reducer::result_address(uint32_t result) {
  return memory_.data() + (uint64_t{shape_.members} * shape_.window + result) * shape_.chunk_bytes;
}

Status Reducer::attach(uint16_t rank, MemberPort& port) {
  auto region = port.connection().register_memory(memory_.data(), memory_.size(),
                                                  transport::MemoryType::host);
  if (!region) return fail(std::move(region).error());
  Member& member = members_[rank];
  member.port = &port;
  member.region = std::move(*region);
  member.windows.resize(kMaxResultWindows);
  const LocalWindow slots{kSlotWindow, slot_address(TrafficClass::streaming, rank, 0),
                          uint64_t{shape_.window} * shape_.chunk_bytes, member.region.get()};
  port.touch();
  return port.connection().announce({&slots, 1}, {});
}

void Reducer::detach(uint16_t rank) {
  Member& member = members_[rank];
  if (member.port == nullptr) return;
  member = Member();
  for (uint32_t result = 0; result < holders_.size(); ++result) let_go(rank, result);
}

bool Reducer::has_partial() const {
  return std::any_of(rings_.begin(), rings_.end(),
                     [](const SlotRing& ring) { return ring.has_partial(); });
}

Status Reducer::check_chunk(uint16_t rank, const ChunkHeader& header) {
  if (header.group != shape_.group || header.epoch != shape_.epoch || header.child != rank) {
    return fail(
        ErrorKind::remote,
        format_text("rank %u sent a chunk of another group, epoch or rank", unsigned{rank}));
  }
  if (!can_reduce(header.type, header.reduce_operator)) {
    return fail(ErrorKind::remote,
                format_text("rank %u asks for %s of %s, which is not done here", unsigned{rank},
                            name_of(header.reduce_operator), name_of(header.type)));
  }
  return {};
}

Status Reducer::on_streaming(uint16_t rank, const ChunkHeader& header, transport::WindowId window,
                             uint64_t offset, uint64_t size) {
  SLUICE_RETURN_IF_ERROR(check_chunk(rank, header));
  const uint32_t slot = ring(TrafficClass::streaming).slot_of(header.sequence);
  if (header.traffic_class != TrafficClass::streaming || window != kSlotWindow ||
      offset != uint64_t{slot} * shape_.chunk_bytes || size != header.bytes ||
      size > shape_.chunk_bytes || header.result_window >= kMaxResultWindows) {
    return fail(ErrorKind::remote,
                format_text("rank %u wrote a chunk where it does not belong", unsigned{rank}));
  }
  const std::byte* payload = slot_address(TrafficClass::streaming, rank, slot);
  if (crc32c({payload, header.bytes}) != header.payload_crc) {
    ++counters_.checksum_errors;
    return fail(ErrorKind::remote,
                format_text("chunk %llu of rank %u arrived with a wrong checksum",
                            static_cast<unsigned long long>(header.sequence), unsigned{rank}));
  }
  return arrive(rank, header);
}

Status Reducer::on_latency(uint16_t rank, const ChunkHeader& header,
                           std::span<const std::byte> payload) {
  SLUICE_RETURN_IF_ERROR(check_chunk(rank, header));
  if (header.traffic_class != TrafficClass::latency || payload.size() != header.bytes ||
      header.bytes > shape_.latency_bytes || header.bytes != header.operation_bytes) {
    return fail(ErrorKind::remote,
                format_text("rank %u sent a malformed latency chunk", unsigned{rank}));
  }
  if (crc32c(payload) != header.payload_crc) {
    ++counters_.checksum_errors;
    return fail(ErrorKind::remote,
                format_text("latency chunk %llu of rank %u arrived with a wrong checksum",
                            static_cast<unsigned long long>(header.sequence), unsigned{rank}));
  }
  const uint32_t slot = ring(TrafficClass::latency).slot_of(header.sequence);
  std::memcpy(slot_address(TrafficClass::latency, rank, slot), payload.data(), payload.size());
  return arrive(rank, header);
}

Status Reducer::arrive(uint16_t rank, const ChunkHeader& header) {
  const bool streaming = header.traffic_class == TrafficClass::streaming;
  SlotRing& other = ring(streaming ? TrafficClass::latency : TrafficClass::streaming);
  const uint16_t elsewhere = other.waiting_member(header.operation);
  if (elsewhere != kNoMember) {
    return fail(
        ErrorKind::remote,
        format_text("the ranks disagree: operation %llu is of the %s class for rank %u (%llu "
                    "bytes) and of the other for rank %u",
                    static_cast<unsigned long long>(header.operation),
                    name_of(header.traffic_class), unsigned{rank},
                    static_cast<unsigned long long>(header.operation_bytes), unsigned{elsewhere}));
  }
  SlotRing& own = ring(header.traffic_class);
  auto last = own.arrive(rank, header);
  if (!last) return fail(std::move(last).error());
  if (!*last) return {};
  const uint32_t slot = own.slot_of(header.sequence);
  if (streaming) {
    ready_.push_back(slot);
    return finish_ready();
  }
  finish_latency(slot);
  return {};
}

void Reducer::reduce_slot(TrafficClass traffic_class, uint32_t slot, void* out) {
  const ChunkHeader& header = ring(traffic_class).header(slot);
  for (uint16_t rank = 0; rank < shape_.members; ++rank) {
    inputs_[rank] = slot_address(traffic_class, rank, slot);
  }
  reduce(header.type, header.reduce_operator, out, inputs_.data(), shape_.members,
         header.bytes / size_of(header.type));
  ++counters_.chunks;
  counters_.bytes += header.bytes;
}

void Reducer::finish_latency(uint32_t slot) {
  alignas(64) std::array<std::byte, kMaxLatencyBytes> result;
  reduce_slot(TrafficClass::latency, slot, result.data());
  ChunkHeader header = ring(TrafficClass::latency).header(slot);
  const std::span<const std::byte> payload(result.data(), header.bytes);
  header.payload_crc = crc32c(payload);
  ring(TrafficClass::latency).release(slot);
  for (uint16_t rank = 0; rank < shape_.members; ++rank) {
    MemberPort* port = members_[rank].port;
    if (port == nullptr) continue;
    header.child = rank;
    // A connection that fails here says so again when it is driven next: its owner deals with it.
    static_cast<void>(port->connection().send_message(encode(header), payload));
    port->touch();
  }
}

Status Reducer::finish_ready() {
  while (!ready_.empty() && !free_.empty()) {
    const uint32_t slot = ready_.front();
    ready_.pop_front();
    SLUICE_RETURN_IF_ERROR(finish_streaming(slot));
  }
  return {};
}

Status Reducer::finish_streaming(uint32_t slot) {
  SlotRing& own = ring(TrafficClass::streaming);
  const uint32_t result = free_.back();
  free_.pop_back();
  reduce_slot(TrafficClass::streaming, slot, result_address(result));
  Delivery delivery{own.header(slot), result};
  delivery.header.payload_crc = crc32c({result_address(result), delivery.header.bytes});
  own.release(slot);

  // All holders first: a write may be confirmed at once.
  uint64_t holders = 0;
  for (uint16_t rank = 0; rank < shape_.members; ++rank) {
    if (members_[rank].port != nullptr) holders |= uint64_t{1} << rank;
  }
  holders_[result] = holders;
  if (holders == 0) free_.push_back(result);
  for (uint16_t rank = 0; rank < shape_.members; ++rank) {
    if (members_[rank].port == nullptr) continue;
    delivery.header.child = rank;
    delivery.header.result_window = own.result_window(slot, rank);
    SLUICE_RETURN_IF_ERROR(deliver(rank, delivery));
  }
  return {};
}

Status Reducer::deliver(uint16_t rank, const Delivery& delivery) {
  Member& member = members_[rank];
  const ChunkHeader& header = delivery.header;
  const ResultWindow& target = member.windows[header.result_window];
  if (!target.announced || target.operation != header.operation) {
    member.waiting.push_back(delivery);  // the announcement is still on its way
    return {};
  }
  if (target.window.size != header.operation_bytes) {
    return fail(ErrorKind::remote,
                format_text("rank %u announced %llu bytes for results of %llu", unsigned{rank},
                            static_cast<unsigned long long>(target.window.size),
                            static_cast<unsigned long long>(header.operation_bytes)));
  }
  const EncodedChunkHeader record = encode(header);
  Write write;
  write.window = target.window;
  write.offset = header.offset;
  write.data = result_address(delivery.result);
  write.size = header.bytes;
  write.region = member.region.get();
  write.record = record;
  write.token = delivery.result;
  write.confirm = Confirm::buffer_reusable;
  // A connection that fails here says so again when it is driven next: its owner deals with it.
  static_cast<void>(member.port->connection().write(write));
  member.port->touch();
  return {};
}

Status Reducer::on_result_window(uint16_t rank, const RemoteWindow& window, uint64_t operation) {
  if (window.id >= kMaxResultWindows) {
    return fail(ErrorKind::remote, format_text("rank %u announced result window %u of %u",
                                               unsigned{rank}, window.id, kMaxResultWindows));
  }
  Member& member = members_[rank];
  member.windows[window.id] = {window, operation, true};
  std::vector<Delivery> waiting;
  waiting.swap(member.waiting);
  for (const Delivery& delivery : waiting) SLUICE_RETURN_IF_ERROR(deliver(rank, delivery));
  return {};
}

void Reducer::let_go(uint16_t rank, uint32_t result) {
  const uint64_t bit = uint64_t{1} << rank;
  if ((holders_[result] & bit) == 0) return;
  holders_[result] &= ~bit;
  if (holders_[result] == 0) free_.push_back(result);
}

Status Reducer::on_written(uint16_t rank, uint64_t token) {
  if (token >= holders_.size()) return fail(ErrorKind::internal, "unknown result was confirmed");
  let_go(rank, static_cast<uint32_t>(token));
  return finish_ready();
}

}  // namespace sluice::sharp
