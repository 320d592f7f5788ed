// SPDX-License-Identifier: Apache-2.0
// One direction's ring in shared memory: entries of a fixed header, a head (record, message, note)
// and payload, published by one producer, consumed by one consumer. An entry is contiguous; what is
// left at the end of the ring is skipped by a padding entry. Each side keeps its own index
// privately and never trusts the shared copy of it. Thread rule: a Producer or Consumer is driven
// by one thread at a time. Ownership: the Segment must outlive both.
#pragma once

#include <optional>
#include <span>

#include "transport/shm/segment.h"

namespace sluice::transport::shm {

enum class EntryType : uint8_t {
  padding = 1,
  message = 2,
  announcement = 3,  // `window` many RemoteWindows, then the note
  piece = 4,         // payload for a window; the last piece of a write delivers the record
  arrival = 5,       // a write that the sender put into the window itself
  goodbye = 6,       // why, as a sentence
};

struct EntryHeader {
  uint32_t size = 0;  // of the whole entry, before rounding up to cache lines
  uint8_t type = 0;
  uint8_t last = 0;  // piece: the write is whole now
  uint16_t head_size = 0;
  uint32_t window = 0;
  uint32_t payload_size = 0;
  uint64_t offset = 0;      // of the write in its window
  uint64_t whole_size = 0;  // of the write
  uint64_t position = 0;    // of the payload in the write
};
static_assert(sizeof(EntryHeader) == 40);

inline constexpr size_t kMaxEntryPayload = 32 << 10;
inline constexpr size_t kMaxEntry = sizeof(EntryHeader) + kMaxMessage + kMaxEntryPayload;
static_assert(2 * kMaxEntry <= kMinRing, "an entry and the padding before it must fit");

class Producer {
 public:
  Producer(const Segment& segment, int side)
      : control_(&segment.ring(side)),
        data_(segment.ring_data(side)),
        size_(segment.ring_bytes()) {}

  // Publishes an entry; false: no room now. An error: the consumer's index is not one.
  Result<bool> publish(EntryHeader header, std::span<const std::byte> head,
                       std::span<const std::byte> more_head, std::span<const std::byte> payload);
  // All bytes ever published, and how many of them the consumer has taken.
  uint64_t head() const { return head_; }
  Result<uint64_t> consumed();

 private:
  Result<bool> has_room(uint64_t size);

  RingControl* control_;
  std::byte* data_;
  const uint64_t size_;
  uint64_t head_ = 0;
  uint64_t known_tail_ = 0;
};

struct Entry {
  EntryHeader header;
  const std::byte* head =
      nullptr;  // in shared memory: may change under the reader, copy before checking
  const std::byte* payload = nullptr;  // likewise
};

class Consumer {
 public:
  Consumer(const Segment& segment, int side)
      : control_(&segment.ring(side)),
        data_(segment.ring_data(side)),
        size_(segment.ring_bytes()) {}

  // The next entry, checked to lie within what was published; an error: the ring is corrupt.
  Result<std::optional<Entry>> peek();
  // Gives the space of the peeked entry back.
  void pop();
  bool empty() const { return control_->head.load(std::memory_order_seq_cst) == tail_; }
  uint64_t tail() const { return tail_; }

 private:
  RingControl* control_;
  std::byte* data_;
  const uint64_t size_;
  uint64_t tail_ = 0;
  uint64_t known_head_ = 0;
  uint64_t peeked_ = 0;
};

}  // namespace sluice::transport::shm
