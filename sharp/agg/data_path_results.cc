// SPDX-License-Identifier: Apache-2.0
// The way down of a data path: what the parent says, and what the children get.
#include <cstring>

#include "sharp/agg/data_path.h"
#include "sharp/verify/claims.h"
#include "sharp/wire/crc32c.h"
#include "sharp/wire/limits.h"

namespace sluice::sharp {

void DataPath::pass_up(ResultSlot& result) {
  const bool gather = result.header.collective == Collective::gather;
  // A gathered payload that came from below is multicast from here: the parent's copy would only
  // come back.
  const bool has_it = gather && result.data != nullptr;
  result.state = ResultSlot::State::up;
  result.awaits_payload = result.wants != 0 && !has_it;
  if (!result.awaits_payload) result.header.flags |= kNoResult;
  send_up(result);
}

void DataPath::send_up(ResultSlot& result) {
  ChunkHeader header = result.header;
  header.child = parent_->child_number();
  header.result_window = 0;
  if (parent_->send_chunk(header, result.data)) ++result.outstanding;
}

void DataPath::pass_down(ResultSlot& result) {
  result.state = ResultSlot::State::done;
  result.header.flags &= kClaimed;
  const TrafficClass traffic_class = result.header.traffic_class;
  const uint32_t slot = ring(traffic_class).slot_of(result.header.sequence);
  const auto children = static_cast<uint16_t>(children_.size());
  for (uint16_t child = 0; child < children; ++child) {
    const Status sent =
        delivery_.send(child, result, ring(traffic_class).result_window(slot, child));
    if (!sent) owner_.child_failed(child, sent.error().message);
  }
}

void DataPath::on_confirmed(uint64_t token) {
  if (token >= shape_.window) return;
  const auto slot = static_cast<uint32_t>(token);
  ResultSlot& result = results_[static_cast<size_t>(TrafficClass::streaming)][slot];
  if (result.outstanding > 0) --result.outstanding;
  finish(TrafficClass::streaming, slot);
}

void DataPath::on_window(uint16_t child, const transport::RemoteWindow& window,
                         uint64_t operation) {
  const Status taken = delivery_.on_window(child, window, operation);
  if (!taken) owner_.child_failed(child, taken.error().message);
}

void DataPath::on_node_window(uint16_t child, const transport::RemoteWindow& window) {
  const Status taken = delivery_.on_node_window(child, window);
  if (!taken) owner_.child_failed(child, taken.error().message);
}

void DataPath::on_resend(uint16_t child, const Resend& resend) {
  if (static_cast<size_t>(resend.traffic_class) >= kTrafficClasses) {
    owner_.child_failed(child, "asks for a chunk of an unknown class");
    return;
  }
  SlotRing& own = ring(resend.traffic_class);
  const uint32_t slot = own.slot_of(resend.sequence);
  ResultSlot& kept = result(resend.traffic_class, resend.sequence);
  // A child that has sent chunk n+W has result n, and does not ask for it.
  const bool held = kept.state == ResultSlot::State::done &&
                    kept.header.sequence == resend.sequence &&
                    own.is_due(child, resend.sequence + own.window());
  if (!held) {
    owner_.child_failed(child, format_text("asks again for the result of %s chunk %llu, which is "
                                           "not held any more",
                                           name_of(resend.traffic_class),
                                           static_cast<unsigned long long>(resend.sequence)));
    return;
  }
  if (!own.may_resend(child, slot)) {
    owner_.child_failed(
        child, format_text("got the result of %s chunk %llu damaged %d times",
                           name_of(resend.traffic_class),
                           static_cast<unsigned long long>(resend.sequence), kMostResends + 1));
    return;
  }
  ++counters_.resent;
  ++activity_;
  const Status sent = delivery_.send(child, kept, own.result_window(slot, child));
  if (!sent) owner_.child_failed(child, sent.error().message);
}

ResultSlot* DataPath::awaited(const ChunkHeader& header) {
  ResultSlot& kept = result(header.traffic_class, header.sequence);
  const bool expected =
      parent_ != nullptr && header.group == shape_.group && header.epoch == shape_.epoch &&
      header.child == parent_->child_number() && kept.state == ResultSlot::State::up &&
      kept.header.sequence == header.sequence && same_chunk(kept.header, header) &&
      (header.flags & ~kClaimed) == 0 && (header.payload_bytes != 0) == kept.awaits_payload;
  if (expected) return &kept;
  owner_.parent_failed(format_text("sent a result of %s chunk %llu that nobody waits for",
                                   name_of(header.traffic_class),
                                   static_cast<unsigned long long>(header.sequence)));
  return nullptr;
}

bool DataPath::is_intact_result(ResultSlot& kept, const ChunkHeader& header,
                                std::span<const std::byte> payload) {
  if (payload.empty() || crc32c(payload) == header.payload_crc) return true;
  ++counters_.checksum_errors;
  if (++kept.resends <= kMostResends) {
    parent_->ask_again({header.traffic_class, header.sequence});
  } else {
    owner_.parent_failed(format_text(
        "sent the result of %s chunk %llu damaged %d times", name_of(header.traffic_class),
        static_cast<unsigned long long>(header.sequence), kMostResends + 1));
  }
  return false;
}

void DataPath::on_written_result(const ChunkHeader& header, const WrittenAt& where) {
  ResultSlot* kept = awaited(header);
  if (kept == nullptr) return;
  const uint32_t slot = ring(TrafficClass::streaming).slot_of(header.sequence);
  if (header.traffic_class != TrafficClass::streaming || header.payload_bytes == 0 ||
      where.window != kSlotWindow || where.offset != uint64_t{slot} * shape_.chunk_bytes ||
      where.size != header.payload_bytes) {
    owner_.parent_failed("wrote a result where it does not belong");
    return;
  }
  const std::byte* payload = at(layout_.down_slot(TrafficClass::streaming, slot));
  take_result(*kept, header, payload);
}

void DataPath::on_message_result(const ChunkHeader& header, std::span<const std::byte> payload) {
  ResultSlot* kept = awaited(header);
  if (kept == nullptr) return;
  const bool latency = header.traffic_class == TrafficClass::latency;
  if (payload.size() != header.payload_bytes || (!latency && !payload.empty())) {
    owner_.parent_failed("sent a malformed result");
    return;
  }
  const uint32_t slot = ring(header.traffic_class).slot_of(header.sequence);
  std::byte* place = at(layout_.down_slot(header.traffic_class, slot));
  if (!payload.empty()) std::memcpy(place, payload.data(), payload.size());
  take_result(*kept, header, place);
}

void DataPath::take_result(ResultSlot& kept, const ChunkHeader& header, const std::byte* payload) {
  ++activity_;
  if (header.payload_bytes != 0) {
    if (!is_intact_result(kept, header, {payload, header.payload_bytes})) return;
    if (const Status right = check_claim(shape_, header, payload, kMaxTreeDepth); !right) {
      ++counters_.wrong;
      owner_.parent_failed(right.error().message);
      return;
    }
    kept.data = payload;
    kept.header.payload_bytes = header.payload_bytes;
    kept.header.payload_crc = header.payload_crc;
  } else if (kept.wants == 0) {
    kept.data = nullptr;
  }
  kept.header.flags = header.flags;
  kept.header.claim = header.claim;
  pass_down(kept);
}

void DataPath::on_parent_resend(const Resend& resend) {
  if (static_cast<size_t>(resend.traffic_class) >= kTrafficClasses) {
    owner_.parent_failed("asks for a chunk of an unknown class");
    return;
  }
  ResultSlot& kept = result(resend.traffic_class, resend.sequence);
  if (kept.state != ResultSlot::State::up || kept.header.sequence != resend.sequence ||
      kept.data == nullptr) {
    owner_.parent_failed(format_text("asks again for %s chunk %llu, which is not on its way",
                                     name_of(resend.traffic_class),
                                     static_cast<unsigned long long>(resend.sequence)));
    return;
  }
  if (++kept.resends > kMostResends) {
    owner_.parent_failed(
        format_text("got %s chunk %llu damaged %d times", name_of(resend.traffic_class),
                    static_cast<unsigned long long>(resend.sequence), kMostResends + 1));
    return;
  }
  ++counters_.resent;
  send_up(kept);
}

}  // namespace sluice::sharp
