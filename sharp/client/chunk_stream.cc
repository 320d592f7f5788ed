// SPDX-License-Identifier: Apache-2.0
#include "sharp/client/chunk_stream.h"

#include <algorithm>
#include <cstring>

#include "sharp/client/posting.h"
#include "sharp/verify/claims.h"
#include "sharp/wire/crc32c.h"

namespace sluice::sharp {
namespace {

// A chunk that is damaged again and again is no accident of the line.
constexpr uint32_t kMostResends = 16;

// The payload is this rank's summand: of what a recovery provides nothing is claimed.
bool sends_input(const ChunkDuty& duty) {
  return duty.source == PayloadSource::input || duty.source == PayloadSource::kept_input;
}

}  // namespace

ChunkStream::ChunkStream(TrafficClass traffic_class, uint16_t rank, uint32_t window, bool keeps)
    : traffic_class_(traffic_class),
      rank_(rank),
      keeps_(keeps),
      ledger_(rank, window),
      retention_(window),
      entries_(size_t{2} * window) {}

void ChunkStream::post(Operation& operation) {
  queue_.push_back(&operation);
}

Status ChunkStream::pump(TreeLink& link) {
  while (ledger_.room()) {
    const uint64_t sequence = ledger_.next();
    ChunkDuty duty;
    if (ledger_.sends_again()) {
      duty = ledger_.send_again();
    } else if (!queue_.empty()) {
      duty = start_chunk();
    } else {
      return {};
    }
    SLUICE_RETURN_IF_ERROR(transmit(link, sequence, duty));
  }
  return {};
}

// The oldest operation's next chunk enters the ledger.
ChunkDuty ChunkStream::start_chunk() {
  const uint64_t sequence = ledger_.next();
  Operation& operation = *queue_.front();
  if (operation.cutting.taken() == 0) operation.first_sequence = sequence;
  const Cut cut = operation.cutting.take();
  if (operation.cutting.done()) queue_.pop_front();

  Entry& fresh = entry(sequence);
  fresh = Entry{&operation, cut.offset, {}, 0};
  ChunkHeader& header = fresh.header;
  const bool scatter = operation.collective == Collective::scatter;
  header.traffic_class = traffic_class_;
  header.type = operation.type;
  header.reduce_operator = operation.reduce_operator;
  header.operation = operation.number;
  header.operation_bytes = scatter ? cut.piece.bytes : operation.window_bytes;
  header.offset = scatter ? cut.offset - cut.piece.offset : cut.offset;
  header.bytes = cut.bytes;
  header.result_window = operation.index;
  header.collective = operation.collective;
  header.focus = operation.collective == Collective::allreduce ? uint16_t{0} : cut.rank;

  const bool gathers = operation.collective == Collective::gather;
  const bool own = gathers && cut.rank == rank_;
  const std::byte* input = gathers && !own ? nullptr : operation.input_of(cut.offset);
  NewChunk chunk{operation.collective, header.focus, false};
  chunk.in_place = keeps_ && !gathers && operation.overwrites(input, cut.bytes);
  const ChunkDuty duty = ledger_.send(chunk);
  if (duty.keep_input) retention_.keep_input(sequence, {input, cut.bytes});
  // The source of a gather receives nothing.
  std::byte* place = own ? operation.output_of(cut.offset) : nullptr;
  if (own && place != input) std::memcpy(place, input, cut.bytes);
  return duty;
}

TreeLink::Payload ChunkStream::payload_of(uint64_t sequence, const ChunkDuty& duty) {
  if (duty.source == PayloadSource::none) return {};
  if (duty.source == PayloadSource::kept) {
    return {retention_.find(sequence).data.data(), nullptr, kNoToken};
  }
  const Entry& of = entry(sequence);
  const Operation& operation = *of.operation;  // lives: else its chunks are kept
  if (duty.source == PayloadSource::kept_input) {
    return {retention_.input(sequence).data(), nullptr, operation.index};
  }
  if (duty.source == PayloadSource::result) {
    return {operation.output_of(of.offset), operation.output_region, operation.index};
  }
  return {operation.input_of(of.offset), operation.input_region, operation.index};
}

Status ChunkStream::transmit(TreeLink& link, uint64_t sequence, const ChunkDuty& duty) {
  const Entry& of = entry(sequence);
  ChunkHeader header = of.header;
  header.sequence = ledger_.to_wire(sequence);
  header.collective = duty.collective;
  header.focus = duty.focus;
  header.flags = duty.wants_result ? uint8_t{0} : kNoResult;
  const TreeLink::Payload payload = payload_of(sequence, duty);
  if (duty.source != PayloadSource::none) {
    if (payload.data == nullptr) {
      return fail(ErrorKind::internal, format_text("chunk %llu is wanted again, but was not kept",
                                                   static_cast<unsigned long long>(sequence)));
    }
    header.payload_bytes = header.bytes;
    if (sends_input(duty)) add_claim(link.shape(), header, payload.data);
  }
  if (duty.wants_result && traffic_class_ == TrafficClass::streaming) {
    SLUICE_RETURN_IF_ERROR(announce(link, *of.operation));
  }
  const auto awaited = link.send(header, payload);
  if (!awaited) return fail(awaited.error());
  if (*awaited && payload.token != kNoToken) ++of.operation->unconfirmed;
  return {};
}

Status ChunkStream::announce(TreeLink& link, Operation& operation) {
  if (operation.announced) return {};
  operation.announced = true;
  return link.announce_result(
      {operation.index, operation.output, operation.output_range.bytes, operation.output_region},
      operation.number);
}

Status ChunkStream::count_resend(uint64_t sequence) {
  if (++entry(sequence).resends <= kMostResends) return {};
  return fail(ErrorKind::remote,
              format_text("chunk %llu of the %s class arrived damaged %u times: memory or a link "
                          "between here and the node is broken",
                          static_cast<unsigned long long>(sequence), name_of(traffic_class_),
                          kMostResends));
}

Status ChunkStream::on_resend(TreeLink& link, uint64_t wire_sequence) {
  const uint64_t sequence = ledger_.from_wire(wire_sequence);
  if (!ledger_.awaits(sequence)) {
    return fail(ErrorKind::remote, format_text("chunk %llu is wanted again, but is not under way",
                                               static_cast<unsigned long long>(sequence)));
  }
  SLUICE_RETURN_IF_ERROR(count_resend(sequence));
  return transmit(link, sequence, ledger_.duty(sequence));
}

Status ChunkStream::check_place(const ChunkHeader& header, const ChunkDuty& duty, const Entry& of,
                                const TreeLink::Arrival& arrival) const {
  const ChunkHeader& due = of.header;
  if (header.operation != due.operation || header.operation_bytes != due.operation_bytes ||
      header.offset != due.offset || header.bytes != due.bytes || header.type != due.type ||
      header.reduce_operator != due.reduce_operator || header.collective != duty.collective) {
    return fail(ErrorKind::remote, "a result came of another chunk than was sent");
  }
  const bool due_here = duty.wants_result && duty.collective != Collective::none;
  if (header.payload_bytes != (due_here ? due.bytes : 0)) {
    return fail(ErrorKind::remote, format_text("a result came with %u bytes where %u were due",
                                               header.payload_bytes, due_here ? due.bytes : 0));
  }
  const bool written = due_here && traffic_class_ == TrafficClass::streaming;
  const bool in_place = written ? arrival.window == due.result_window &&
                                      arrival.offset == due.offset && arrival.size == due.bytes
                                : arrival.payload.size() == header.payload_bytes;
  if (arrival.written == written && in_place) return {};
  return fail(ErrorKind::remote, "a result was written where it does not belong");
}

Status ChunkStream::on_result(TreeLink& link, const ChunkHeader& header,
                              const TreeLink::Arrival& arrival) {
  const uint64_t sequence = ledger_.from_wire(header.sequence);
  if (!ledger_.awaits(sequence)) {
    return fail(ErrorKind::remote,
                format_text("result of %s chunk %llu, which is not under way",
                            name_of(traffic_class_), static_cast<unsigned long long>(sequence)));
  }
  Entry& of = entry(sequence);
  SLUICE_RETURN_IF_ERROR(check_place(header, ledger_.duty(sequence), of, arrival));
  if (header.payload_bytes > 0) {
    std::byte* place = of.operation->output_of(of.offset);
    const std::span<const std::byte> payload =
        arrival.written ? std::span<const std::byte>(place, of.header.bytes) : arrival.payload;
    if (link.checks_payloads() && crc32c(payload) != header.payload_crc) {
      SLUICE_RETURN_IF_ERROR(count_resend(sequence));
      return link.request_resend(traffic_class_, header.sequence);
    }
    SLUICE_RETURN_IF_ERROR(check_sum(link, sequence, header, payload.data()));
    if (!arrival.written) std::memcpy(place, payload.data(), payload.size());
  }
  return take(link, sequence, of);
}

// Before a result counts: that the tree computed it rightly, as far as the group verifies it.
Status ChunkStream::check_sum(const TreeLink& link, uint64_t sequence, const ChunkHeader& header,
                              const std::byte* payload) const {
  if ((header.flags & kClaimed) == 0) return {};
  SLUICE_RETURN_IF_ERROR(check_claim(link.shape(), header, payload, kMaxTreeDepth));
  const Entry& of = entries_[sequence % entries_.size()];
  const std::byte* input = of.operation->input_of(of.offset);
  if (of.operation->overwrites(input, of.header.bytes)) input = retention_.input(sequence).data();
  return input == nullptr ? Status() : check_own(header, payload, input);
}

Status ChunkStream::take(TreeLink& link, uint64_t sequence, Entry& of) {
  if (!ledger_.answer(sequence)) return {};
  Operation& operation = *of.operation;
  if (++operation.arrived < operation.cutting.chunks()) return {};
  // From here on the buffer is the caller's: nothing may be written there any more.
  if (operation.announced) link.withdraw(operation.index);
  operation.announced = false;
  deliver(operation);
  return {};
}

void ChunkStream::retire(const Operation& operation) {
  const uint64_t end = operation.first_sequence + operation.cutting.chunks();
  const uint64_t known = ledger_.posted() - std::min<uint64_t>(ledger_.posted(), entries_.size());
  for (uint64_t sequence = std::max(operation.first_sequence, known); sequence < end; ++sequence) {
    Entry& of = entry(sequence);
    if (keeps_ && ledger_.worth_keeping(sequence)) {
      const std::byte* data = ledger_.keeps_result(sequence) ? operation.output_of(of.offset)
                                                             : operation.input_of(of.offset);
      std::memcpy(retention_.keep(sequence, of.header).data(), data, of.header.bytes);
    }
    ledger_.retire(sequence);
    of.operation = nullptr;
  }
}

}  // namespace sluice::sharp
