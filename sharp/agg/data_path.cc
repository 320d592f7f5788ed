// SPDX-License-Identifier: Apache-2.0
// The way up: chunks of the children. data_path_results.cc is the way down.
#include "sharp/agg/data_path.h"

#include <algorithm>
#include <cstring>

#include "sharp/agg/combine.h"
#include "sharp/reduce/reduce.h"
#include "sharp/verify/claims.h"
#include "sharp/wire/crc32c.h"
#include "sharp/wire/limits.h"

namespace sluice::sharp {

using transport::LocalWindow;

DataPath::DataPath(DataPathOwner& owner, const GroupShape& shape,
                   const std::vector<ChildInfo>& children, const SlotLayout& layout,
                   std::span<std::byte> memory, DataCounters& counters, Faults& faults)
    : owner_(owner),
      shape_(shape),
      children_(children),
      layout_(layout),
      memory_(memory),
      counters_(counters),
      faults_(faults),
      delivery_(shape, static_cast<uint16_t>(children.size()), faults),
      regions_(children.size()),
      slots_(children.size()) {
  for (const auto traffic_class : {TrafficClass::latency, TrafficClass::streaming}) {
    rings_.emplace_back(layout.window(traffic_class), static_cast<uint16_t>(children.size()));
    results_.emplace_back(layout.window(traffic_class));
  }
}

Status DataPath::attach(uint16_t child, ChildPort& port) {
  auto region = port.connection().register_memory(memory_.data(), memory_.size(),
                                                  transport::MemoryType::host);
  if (!region) return fail(std::move(region).error());
  regions_[child] = std::move(*region);
  delivery_.attach(child, port, children_[child].node, regions_[child].get());
  const LocalWindow slots{kSlotWindow, at(layout_.child_slot(TrafficClass::streaming, child, 0)),
                          layout_.row(TrafficClass::streaming), regions_[child].get()};
  port.touch();
  return port.connection().announce({&slots, 1}, {});
}

void DataPath::detach(uint16_t child) {
  delivery_.detach(child);
  regions_[child].reset();
}

bool DataPath::has_partial() const {
  return std::any_of(rings_.begin(), rings_.end(),
                     [](const SlotRing& ring) { return ring.has_partial(); });
}

bool DataPath::quiet() const {
  return !has_partial() && std::all_of(results_.begin(), results_.end(),
                                       [](const ResultRing& results) { return results.quiet(); });
}

void DataPath::forget() {
  for (ResultRing& results : results_) results.forget();
}

bool DataPath::check_form(uint16_t child, const ChunkHeader& header) {
  const bool partial = (header.flags & kPartialForm) != 0;
  if (partial && !(children_[child].node && passes_partials(shape_.precision, header))) {
    owner_.child_failed(child, "sent partial sums, which are not due here");
    return false;
  }
  if (header.bytes >
      most_bytes(shape_.precision, header, layout_.slot_bytes(header.traffic_class))) {
    owner_.child_failed(child,
                        format_text("sent a chunk of %u bytes, which is too large", header.bytes));
    return false;
  }
  const bool has_window = header.traffic_class == TrafficClass::latency || children_[child].node ||
                          (header.flags & kNoResult) != 0 ||
                          header.result_window < kMaxResultWindows;
  if (!has_window) {
    owner_.child_failed(child, format_text("names result window %u of %u", header.result_window,
                                           kMaxResultWindows));
    return false;
  }
  const bool gather = header.collective == Collective::gather;
  const bool scatter = header.collective == Collective::scatter;
  const bool due = header.collective == Collective::allreduce || scatter ||
                   (gather && children_[child].holds(header.focus));
  if (due != (header.payload_bytes != 0) ||
      ((gather || scatter) && header.focus >= shape_.members)) {
    owner_.child_failed(child, format_text("sent a chunk of %u bytes for %s", header.payload_bytes,
                                           describe(header).c_str()));
    return false;
  }
  return true;
}

bool DataPath::check_chunk(uint16_t child, const ChunkHeader& header) {
  if (header.group != shape_.group || header.epoch != shape_.epoch || header.child != child) {
    owner_.child_failed(child, "sent a chunk of another group, epoch or child");
    return false;
  }
  if (!can_reduce(header.type, header.reduce_operator)) {
    owner_.child_failed(child, format_text("asks for %s of %s, which is not done here",
                                           name_of(header.reduce_operator), name_of(header.type)));
    return false;
  }
  if (!ring(header.traffic_class).is_due(child, header.sequence)) {
    owner_.child_failed(child,
                        format_text("sent %s chunk %llu out of turn", name_of(header.traffic_class),
                                    static_cast<unsigned long long>(header.sequence)));
    return false;
  }
  return check_form(child, header);
}

void DataPath::on_written_chunk(uint16_t child, const ChunkHeader& header, const WrittenAt& where) {
  if (!check_chunk(child, header)) return;
  const uint32_t slot = ring(TrafficClass::streaming).slot_of(header.sequence);
  if (header.traffic_class != TrafficClass::streaming || header.payload_bytes == 0 ||
      where.window != kSlotWindow || where.offset != uint64_t{slot} * shape_.chunk_bytes ||
      where.size != header.payload_bytes) {
    owner_.child_failed(child, "wrote a chunk where it does not belong");
    return;
  }
  const std::byte* payload = at(layout_.child_slot(TrafficClass::streaming, child, slot));
  if (!is_intact(child, header, {payload, header.payload_bytes})) return;
  if (is_right(child, header, payload)) arrive(child, header);
}

void DataPath::on_message_chunk(uint16_t child, const ChunkHeader& header,
                                std::span<const std::byte> payload) {
  if (!check_chunk(child, header)) return;
  const bool latency = header.traffic_class == TrafficClass::latency;
  if (payload.size() != header.payload_bytes || (!latency && !payload.empty()) ||
      (latency && header.bytes != header.operation_bytes)) {
    owner_.child_failed(child,
                        format_text("sent a malformed %s chunk", name_of(header.traffic_class)));
    return;
  }
  if (!is_intact(child, header, payload) || !is_right(child, header, payload.data())) return;
  if (!payload.empty()) {
    const uint32_t slot = ring(TrafficClass::latency).slot_of(header.sequence);
    std::memcpy(at(layout_.child_slot(TrafficClass::latency, child, slot)), payload.data(),
                payload.size());
  }
  arrive(child, header);
}

bool DataPath::is_intact(uint16_t child, const ChunkHeader& header,
                         std::span<const std::byte> payload) {
  if (payload.empty() || crc32c(payload) == header.payload_crc) return true;
  ++counters_.checksum_errors;
  SlotRing& own = ring(header.traffic_class);
  if (own.may_resend(child, own.slot_of(header.sequence))) {
    delivery_.ask_again(child, {header.traffic_class, header.sequence});
  } else {
    owner_.child_failed(
        child, format_text("sent %s chunk %llu damaged %d times", name_of(header.traffic_class),
                           static_cast<unsigned long long>(header.sequence), kMostResends + 1));
  }
  return false;
}

bool DataPath::is_right(uint16_t child, const ChunkHeader& header, const std::byte* payload) {
  // A rank's own chunk is what it says it is.
  if (!children_[child].node) return true;
  const Status right = check_claim(shape_, header, payload, kMaxTreeDepth);
  if (right) return true;
  ++counters_.wrong;
  owner_.child_failed(child, right.error().message);
  return false;
}

void DataPath::arrive(uint16_t child, const ChunkHeader& header) {
  ++activity_;
  const bool streaming = header.traffic_class == TrafficClass::streaming;
  SlotRing& other = ring(streaming ? TrafficClass::latency : TrafficClass::streaming);
  const uint16_t elsewhere = other.waiting_child(header.operation);
  if (elsewhere != kNoMember) {
    owner_.children_disagree(
        child, format_text("operation %llu is of the %s class for %s (%llu bytes) and of the other "
                           "for %s",
                           static_cast<unsigned long long>(header.operation),
                           name_of(header.traffic_class), children_[child].name().c_str(),
                           static_cast<unsigned long long>(header.operation_bytes),
                           children_[elsewhere].name().c_str()));
    return;
  }
  SlotRing& own = ring(header.traffic_class);
  const uint32_t slot = own.slot_of(header.sequence);
  if (!own.arrive(child, header)) {
    const SlotRing::Slot& chunk = own.slot(slot);
    owner_.children_disagree(
        child,
        format_text("%s calls %s, but %s calls %s", children_[chunk.first_child].name().c_str(),
                    describe(chunk.first).c_str(), children_[child].name().c_str(),
                    describe(header).c_str()));
    return;
  }
  finish(header.traffic_class, slot);
}

uint64_t DataPath::children_that_want(const SlotRing::Slot& chunk) const {
  if (chunk.first.collective == Collective::none) return 0;
  uint64_t wants = 0;
  for (size_t child = 0; child < children_.size(); ++child) {
    const bool gets =
        chunk.first.collective != Collective::scatter || children_[child].holds(chunk.first.focus);
    if (gets) wants |= uint64_t{1} << child;
  }
  return wants & ~chunk.no_result;
}

void DataPath::finish(TrafficClass traffic_class, uint32_t slot) {
  SlotRing& own = ring(traffic_class);
  const SlotRing::Slot& chunk = own.slot(slot);
  ResultSlot& result = results_[static_cast<size_t>(traffic_class)][slot];
  if (!own.complete(slot) || result.outstanding != 0) return;
  const auto children = static_cast<uint16_t>(children_.size());
  for (uint16_t child = 0; child < children; ++child) {
    slots_[child] = at(layout_.child_slot(traffic_class, child, slot));
  }
  std::byte* out = at(layout_.up_slot(traffic_class, slot));
  const bool to_partials = parent_ != nullptr && passes_partials(shape_.precision, chunk.first);
  const Combined combined = combine(chunk, slots_, to_partials, out);
  result = ResultSlot();
  result.header = chunk.first;
  result.wants = children_that_want(chunk);
  result.data = combined.bytes != 0 ? out : nullptr;
  result.header.payload_bytes = combined.bytes;
  result.header.payload_crc = combined.crc;
  // A checksum over what was computed here; what was passed on keeps its sender's.
  if (combined.computed) faults_.flip({out, combined.bytes});
  if (combined.computed) result.header.payload_crc = crc32c({out, combined.bytes});
  result.header.flags = combined.partial ? kPartialForm : 0;
  if (const auto claim = own.claim(slot)) {
    result.header.flags |= kClaimed;
    result.header.claim = *claim;
  }
  own.release(slot);
  ++counters_.chunks;
  counters_.bytes += combined.bytes;
  if (parent_ == nullptr) {
    pass_down(result);
  } else {
    pass_up(result);
  }
}

}  // namespace sluice::sharp
