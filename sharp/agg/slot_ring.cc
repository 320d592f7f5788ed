// SPDX-License-Identifier: Apache-2.0
#include "sharp/agg/slot_ring.h"

#include "sharp/wire/membership.h"

namespace sluice::sharp {
namespace {

std::string describe(const ChunkHeader& header) {
  return format_text("operation %llu of %llu bytes of %s %s, %u bytes at %llu",
                     static_cast<unsigned long long>(header.operation),
                     static_cast<unsigned long long>(header.operation_bytes), name_of(header.type),
                     name_of(header.reduce_operator), header.bytes,
                     static_cast<unsigned long long>(header.offset));
}

bool same_chunk(const ChunkHeader& a, const ChunkHeader& b) {
  return a.operation == b.operation && a.operation_bytes == b.operation_bytes && a.type == b.type &&
         a.reduce_operator == b.reduce_operator && a.offset == b.offset && a.bytes == b.bytes;
}

}  // namespace

SlotRing::SlotRing(uint32_t window, uint16_t members)
    : members_(members),
      all_(members == 64 ? ~uint64_t{0} : (uint64_t{1} << members) - 1),
      slots_(window),
      result_windows_(size_t{window} * members) {
  for (uint32_t slot = 0; slot < window; ++slot) slots_[slot].expected = slot;
}

Result<bool> SlotRing::arrive(uint16_t member, const ChunkHeader& header) {
  Slot& slot = slots_[slot_of(header.sequence)];
  const uint64_t bit = uint64_t{1} << member;
  if (header.sequence != slot.expected || (slot.arrived & bit) != 0) {
    return fail(ErrorKind::remote, format_text("rank %u sent %s chunk %llu out of turn",
                                               unsigned{member}, name_of(header.traffic_class),
                                               static_cast<unsigned long long>(header.sequence)));
  }
  if (slot.arrived == 0) {
    slot.first = header;
    slot.first_member = member;
    ++partial_;
  } else if (!same_chunk(slot.first, header)) {
    return fail(ErrorKind::remote,
                format_text("the ranks disagree: rank %u calls %s, but rank %u calls %s",
                            unsigned{slot.first_member}, describe(slot.first).c_str(),
                            unsigned{member}, describe(header).c_str()));
  }
  slot.arrived |= bit;
  result_windows_[slot_of(header.sequence) * members_ + member] = header.result_window;
  return slot.arrived == all_;
}

void SlotRing::release(uint32_t index) {
  Slot& slot = slots_[index];
  slot.expected += slots_.size();
  slot.arrived = 0;
  --partial_;
}

uint16_t SlotRing::waiting_member(uint64_t operation) const {
  if (partial_ == 0) return kNoMember;
  for (const Slot& slot : slots_) {
    if (slot.arrived != 0 && slot.first.operation == operation) return slot.first_member;
  }
  return kNoMember;
}

}  // namespace sluice::sharp
