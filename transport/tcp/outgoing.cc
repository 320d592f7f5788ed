// SPDX-License-Identifier: Apache-2.0
#include "transport/tcp/outgoing.h"

#include <algorithm>
#include <cstring>

namespace sluice::transport::tcp {
namespace {

void append(std::vector<std::byte>& bytes, std::span<const std::byte> more) {
  bytes.insert(bytes.end(), more.begin(), more.end());
}

}  // namespace

void Outgoing::add_message(std::span<const std::byte> head, std::span<const std::byte> body) {
  Control& control = control_.emplace_back();
  control.header.type = static_cast<uint8_t>(FrameType::message);
  control.body.reserve(head.size() + body.size());
  append(control.body, head);
  append(control.body, body);
}

void Outgoing::add_announcement(std::span<const LocalWindow> windows,
                                std::span<const std::byte> note) {
  Control& control = control_.emplace_back();
  control.header.type = static_cast<uint8_t>(FrameType::announcement);
  control.header.window = static_cast<uint32_t>(windows.size());
  for (const LocalWindow& window : windows) {
    const WireWindow wire{window.id, window.size, reinterpret_cast<uintptr_t>(window.address), 0};
    append(control.body, std::as_bytes(std::span(&wire, 1)));
  }
  append(control.body, note);
}

void Outgoing::add_acknowledgement() {
  control_.emplace_back().header.type = static_cast<uint8_t>(FrameType::acknowledgement);
}

void Outgoing::add_write(const Write& write) {
  PendingWrite& pending = writes_.emplace_back();
  pending.write = write;
  pending.write.record = {};
  pending.record_size = write.record.size();
  if (!write.record.empty())
    std::memcpy(pending.record.data(), write.record.data(), write.record.size());
  pending.piece = piece_size_for(write.size);
}

size_t Outgoing::piece_size_for(size_t size) const {
  constexpr size_t kPage = 4096;
  if (size <= 2 * kMinPiece) return size;
  const size_t share = (size / streams_ + kPage - 1) / kPage * kPage;
  return std::clamp(share, kMinPiece, kMaxPiece);
}

bool Outgoing::next(bool control, uint64_t landed_below, Frame& frame) {
  if (control && !control_.empty()) {
    Control& next = control_.front();
    next.header.head_size = static_cast<uint16_t>(next.body.size());
    next.header.acknowledged = stamped_ = landed_below;
    seal(next.header);
    std::memcpy(frame.head.data(), &next.header, sizeof next.header);
    frame.head_size = sizeof next.header;
    frame.body = std::move(next.body);
    control_.pop_front();
    return true;
  }
  if (!may_cut()) return false;
  cut(landed_below, frame);
  return true;
}

void Outgoing::cut(uint64_t landed_below, Frame& frame) {
  PendingWrite& pending = writes_[next_cut_ - first_id_];
  const Write& write = pending.write;
  const size_t piece = std::min(pending.piece, write.size - pending.cut);
  FrameHeader header;
  header.type = static_cast<uint8_t>(FrameType::write);
  header.wants_acknowledgement = write.confirm == Confirm::landed;
  header.head_size = static_cast<uint16_t>(pending.cut == 0 ? pending.record_size : 0);
  header.window = write.window.id;
  header.piece_size = static_cast<uint32_t>(piece);
  header.offset = write.offset;
  header.whole_size = write.size;
  header.position = pending.cut;
  header.write_id = next_cut_;
  header.acknowledged = stamped_ = landed_below;
  seal(header);
  std::memcpy(frame.head.data(), &header, sizeof header);
  std::memcpy(frame.head.data() + sizeof header, pending.record.data(), header.head_size);
  frame.head_size = sizeof header + header.head_size;
  frame.payload = piece > 0 ? write.data + pending.cut : nullptr;
  frame.payload_size = piece;
  frame.write_id = next_cut_;
  pending.cut += piece;
  if (pending.cut < write.size) return;
  pending.all_cut = true;
  ++next_cut_;
}

void Outgoing::piece_sent(uint64_t write_id, size_t size) {
  PendingWrite& pending = writes_[write_id - first_id_];
  pending.sent += size;
  pending.all_sent = pending.all_cut && pending.sent == pending.write.size;
  if (pending.all_sent && pending.write.confirm == Confirm::buffer_reusable) {
    completed_.push_back(pending.write.token);
  }
}

Status Outgoing::acknowledged(uint64_t id) {
  while (first_id_ < id) {
    if (writes_.empty() || !writes_.front().all_sent) {
      return fail(ErrorKind::remote, format_text("acknowledged write %llu, which was not sent",
                                                 static_cast<unsigned long long>(first_id_)));
    }
    const Write& write = writes_.front().write;
    if (write.confirm == Confirm::landed) completed_.push_back(write.token);
    writes_.pop_front();
    ++first_id_;
  }
  return {};
}

}  // namespace sluice::transport::tcp
