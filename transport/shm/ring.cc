// SPDX-License-Identifier: Apache-2.0
#include "transport/shm/ring.h"

#include <cstring>

namespace sluice::transport::shm {
namespace {

constexpr uint64_t rounded(uint64_t size) {
  return (size + kCacheLine - 1) / kCacheLine * kCacheLine;
}

std::byte* put(std::byte* to, std::span<const std::byte> bytes) {
  if (!bytes.empty()) std::memcpy(to, bytes.data(), bytes.size());
  return to + bytes.size();
}

}  // namespace

Result<uint64_t> Producer::consumed() {
  const uint64_t tail = control_->tail.load(std::memory_order_seq_cst);
  if (tail < known_tail_ || tail > head_) {
    return fail(ErrorKind::remote,
                "wrote nonsense into the shared memory (an index that cannot be)");
  }
  known_tail_ = tail;
  return tail;
}

Result<bool> Producer::has_room(uint64_t size) {
  if (head_ + size - known_tail_ <= size_) return true;
  auto tail = consumed();
  if (!tail) return fail(std::move(tail).error());
  return head_ + size - *tail <= size_;
}

Result<bool> Producer::publish(EntryHeader header, std::span<const std::byte> head,
                               std::span<const std::byte> more_head,
                               std::span<const std::byte> payload) {
  header.head_size = static_cast<uint16_t>(head.size() + more_head.size());
  header.payload_size = static_cast<uint32_t>(payload.size());
  header.size = static_cast<uint32_t>(sizeof header + header.head_size + payload.size());
  const uint64_t size = rounded(header.size);
  const uint64_t at = head_ % size_;
  const uint64_t to_end = size_ - at;
  const uint64_t padding = size > to_end ? to_end : 0;
  auto room = has_room(padding + size);
  if (!room || !*room) return room;
  if (padding > 0) {
    EntryHeader filler;
    filler.type = static_cast<uint8_t>(EntryType::padding);
    filler.size = static_cast<uint32_t>(padding);
    std::memcpy(data_ + at, &filler, sizeof filler);
  }
  std::byte* place = data_ + (at + padding) % size_;
  std::memcpy(place, &header, sizeof header);
  place = put(place + sizeof header, head);
  place = put(place, more_head);
  put(place, payload);
  head_ += padding + size;
  // seq_cst: ordered before the look at the consumer's `sleeping`.
  control_->head.store(head_, std::memory_order_seq_cst);
  return true;
}

Result<std::optional<Entry>> Consumer::peek() {
  const auto corrupt = [] {
    return fail(ErrorKind::remote,
                "wrote nonsense into the shared memory (an entry that cannot be)");
  };
  while (true) {
    if (known_head_ == tail_) {
      const uint64_t head = control_->head.load(std::memory_order_acquire);
      if (head == tail_) return std::optional<Entry>();
      if (head < tail_ || head - tail_ > size_ || head % kCacheLine != 0) return corrupt();
      known_head_ = head;
    }
    const uint64_t at = tail_ % size_;
    Entry entry;
    std::memcpy(&entry.header, data_ + at, sizeof entry.header);
    // The producer could change it between two looks: from here on only the copy counts.
    std::atomic_signal_fence(std::memory_order_seq_cst);
    const EntryHeader& header = entry.header;
    if (header.size < sizeof header || rounded(header.size) > known_head_ - tail_ ||
        rounded(header.size) > size_ - at) {
      return corrupt();
    }
    peeked_ = rounded(header.size);
    if (static_cast<EntryType>(header.type) == EntryType::padding) {
      pop();
      continue;
    }
    if (header.head_size > kMaxMessage || header.payload_size > kMaxEntryPayload ||
        sizeof header + header.head_size + header.payload_size != header.size) {
      return corrupt();
    }
    entry.head = data_ + at + sizeof header;
    entry.payload = entry.head + header.head_size;
    return std::optional<Entry>(entry);
  }
}

void Consumer::pop() {
  tail_ += peeked_;
  peeked_ = 0;
  control_->tail.store(tail_, std::memory_order_seq_cst);
}

}  // namespace sluice::transport::shm
