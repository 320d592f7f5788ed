// SPDX-License-Identifier: Apache-2.0
#include "transport/tcp/landing.h"

#include <algorithm>

namespace sluice::transport::tcp {

Status Landing::expect(const FrameHeader& header) const {
  const uint64_t id = header.write_id;
  if (id < base_ || id - base_ >= kMaxUnlanded || has_landed(id)) {
    return fail(
        ErrorKind::remote,
        format_text("sent write %llu where %llu is the oldest awaited one",
                    static_cast<unsigned long long>(id), static_cast<unsigned long long>(base_)));
  }
  const auto found = assemblies_.find(id);
  if (found == assemblies_.end()) return {};
  const Assembly& assembly = found->second;
  if (assembly.whole.window != header.window || assembly.whole.offset != header.offset ||
      assembly.whole.size != header.whole_size || assembly.remaining < header.piece_size) {
    return fail(ErrorKind::remote,
                format_text("sent pieces of write %llu that do not belong together",
                            static_cast<unsigned long long>(id)));
  }
  return {};
}

Result<const Landing::Whole*> Landing::piece_landed(const FrameHeader& header,
                                                    std::span<const std::byte> record) {
  // Checked again: while this piece was read, another stream may have brought one like it.
  SLUICE_RETURN_IF_ERROR(expect(header));
  Whole* whole = &finished_;
  uint64_t remaining = 0;
  if (header.piece_size != header.whole_size) {
    auto [found, fresh] = assemblies_.try_emplace(header.write_id);
    if (fresh) found->second.remaining = header.whole_size;
    found->second.remaining -= header.piece_size;
    remaining = found->second.remaining;
    whole = &found->second.whole;
  }
  whole->window = header.window;
  whole->offset = header.offset;
  whole->size = header.whole_size;
  if (header.position == 0) {
    whole->record_size = record.size();
    if (!record.empty()) std::memcpy(whole->record.data(), record.data(), record.size());
  }
  if (remaining > 0) return nullptr;
  if (whole != &finished_) {
    finished_ = *whole;
    assemblies_.erase(header.write_id);
  }
  mark_landed(header.write_id);
  return &finished_;
}

bool Landing::awaits(WindowId window) const {
  return std::any_of(assemblies_.begin(), assemblies_.end(),
                     [&](const auto& entry) { return entry.second.whole.window == window; });
}

void Landing::mark_landed(uint64_t id) {
  landed_.set(id % kMaxUnlanded);
  while (landed_[base_ % kMaxUnlanded]) {
    landed_.reset(base_ % kMaxUnlanded);
    ++base_;
  }
}

}  // namespace sluice::transport::tcp
