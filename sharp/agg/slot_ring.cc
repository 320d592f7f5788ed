// SPDX-License-Identifier: Apache-2.0
#include "sharp/agg/slot_ring.h"

#include <algorithm>

#include "sharp/verify/fingerprint.h"
#include "sharp/wire/membership.h"

namespace sluice::sharp {

std::string describe(const ChunkHeader& header) {
  std::string text = format_text("operation %llu of %llu bytes of %s %s, %u bytes at %llu",
                                 static_cast<unsigned long long>(header.operation),
                                 static_cast<unsigned long long>(header.operation_bytes),
                                 name_of(header.type), name_of(header.reduce_operator),
                                 header.bytes, static_cast<unsigned long long>(header.offset));
  if (header.collective == Collective::allreduce) return text;
  return text + format_text(", %s, focus %u", name_of(header.collective), unsigned{header.focus});
}

bool same_chunk(const ChunkHeader& a, const ChunkHeader& b) {
  return a.operation == b.operation && a.operation_bytes == b.operation_bytes && a.type == b.type &&
         a.reduce_operator == b.reduce_operator && a.offset == b.offset && a.bytes == b.bytes &&
         a.collective == b.collective && a.focus == b.focus;
}

SlotRing::SlotRing(uint32_t window, uint16_t children)
    : children_(children),
      all_(children == 64 ? ~uint64_t{0} : (uint64_t{1} << children) - 1),
      slots_(window),
      result_windows_(size_t{window} * children),
      resends_(size_t{window} * children) {
  for (uint32_t slot = 0; slot < window; ++slot) slots_[slot].expected = slot;
}

bool SlotRing::is_due(uint16_t child, uint64_t sequence) const {
  const Slot& slot = slots_[slot_of(sequence)];
  return sequence == slot.expected && (slot.arrived >> child & 1) == 0;
}

bool SlotRing::arrive(uint16_t child, const ChunkHeader& header) {
  const uint32_t index = slot_of(header.sequence);
  Slot& slot = slots_[index];
  if (slot.arrived == 0) {
    slot.first = header;
    slot.first_child = child;
    ++partial_;
  } else if (!same_chunk(slot.first, header)) {
    return false;
  }
  const uint64_t bit = uint64_t{1} << child;
  slot.arrived |= bit;
  if ((header.flags & kNoResult) != 0) slot.no_result |= bit;
  if ((header.flags & kPartialForm) != 0) slot.partial |= bit;
  if ((header.flags & kClaimed) != 0) {
    slot.claimed |= bit;
    if (claims_.empty()) claims_.resize(result_windows_.size());
    claims_[index * children_ + child] = header.claim;
  }
  if (header.payload_bytes != 0) {
    slot.has_payload = true;
    slot.payload_crc = header.payload_crc;
    slot.payload_from = child;
  }
  result_windows_[index * children_ + child] = header.result_window;
  return true;
}

void SlotRing::release(uint32_t index) {
  Slot& slot = slots_[index];
  slot.expected += slots_.size();
  slot.arrived = slot.no_result = slot.partial = slot.claimed = 0;
  slot.has_payload = false;
  const auto first = resends_.begin() + static_cast<std::ptrdiff_t>(size_t{index} * children_);
  std::fill_n(first, children_, uint8_t{0});
  --partial_;
}

std::optional<Claim> SlotRing::claim(uint32_t index) const {
  const Slot& slot = slots_[index];
  if (slot.claimed != all_) return std::nullopt;
  const auto* claims = claims_.data() + size_t{index} * children_;
  Claim whole = claims[0];
  for (size_t child = 1; child < children_; ++child) {
    whole = combine(slot.first.type, slot.first.reduce_operator, whole, claims[child]);
  }
  return whole;
}

uint16_t SlotRing::waiting_child(uint64_t operation) const {
  if (partial_ == 0) return kNoMember;
  for (const Slot& slot : slots_) {
    if (slot.arrived != 0 && slot.first.operation == operation) return slot.first_child;
  }
  return kNoMember;
}

}  // namespace sluice::sharp
