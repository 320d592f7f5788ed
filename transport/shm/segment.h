// SPDX-License-Identifier: Apache-2.0
// The shared memory of one shm connection: two rings and a page of control words per side.
//
// Anonymous (memfd), passed by descriptor: it has no name, so nothing of it is left when both
// processes are gone, however they went. Sealed, so that no peer can shrink it under our feet.
// Whatever is read from it was written by another process and is checked before use. Layout:
// SegmentHeader | SideControl[2] | RingControl[2] | data of ring 0 | data of ring 1. Side 0 made
// the segment (the listener); ring i carries what side i sends.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "base/result.h"
#include "transport/file_descriptor.h"
#include "transport/transport.h"

namespace sluice::transport::shm {

inline constexpr size_t kCacheLine = 64;
inline constexpr size_t kMinRing = 128 << 10;
inline constexpr size_t kMaxRing = 64 << 20;
static_assert(std::atomic<uint64_t>::is_always_lock_free &&
              std::atomic<uint32_t>::is_always_lock_free);

// What one side tells the other. A side writes its own, and reads the other's.
struct SideControl {
  // This side sleeps on its event descriptor and wants a kick.
  alignas(kCacheLine) std::atomic<uint32_t> sleeping;
  // This side has gone: it reads and writes nothing more, and its memory is its own again.
  alignas(kCacheLine) std::atomic<uint32_t> closed;
  // One above the window of the other side that this side is writing into right now; 0: none.
  alignas(kCacheLine) std::atomic<uint32_t> writing;
  // Per window of this side: changes with each announcement and withdrawal. A writer that holds
  // another value than it finds here must not write. With `writing`, this keeps late writes out of
  // memory that was given back.
  alignas(kCacheLine) std::atomic<uint32_t> generation[kMaxWindows];
};

struct RingControl {
  alignas(kCacheLine) std::atomic<uint64_t> head;  // bytes ever published, by the producer
  alignas(kCacheLine) std::atomic<uint64_t> tail;  // bytes ever consumed, by the consumer
};

class Segment {
 public:
  Segment() = default;
  ~Segment();
  Segment(Segment&& other) noexcept { *this = std::move(other); }
  Segment& operator=(Segment&& other) noexcept {
    std::swap(memory_, other.memory_);
    std::swap(size_, other.size_);
    std::swap(ring_bytes_, other.ring_bytes_);
    return *this;
  }

  struct Created;
  // `ring_bytes` is rounded up to a power of two within the limits.
  static Result<Created> create(size_t ring_bytes);
  // Of a descriptor that a peer passed.
  static Result<Segment> map(const FileDescriptor& memory, size_t size, size_t ring_bytes);

  size_t size() const { return size_; }
  size_t ring_bytes() const { return ring_bytes_; }
  SideControl& side(int index) const;
  RingControl& ring(int index) const;
  std::byte* ring_data(int index) const;
  // For the test whether the peer may write into this process (shm/peer_memory.h): a word of the
  // mapping, which stays ours as long as anybody could aim at it.
  uint64_t& probe_word(int side) const;

 private:
  static size_t size_for(size_t ring_bytes);

  std::byte* memory_ = nullptr;
  size_t size_ = 0;
  size_t ring_bytes_ = 0;
};

struct Segment::Created {
  Segment segment;
  FileDescriptor memory;
};

}  // namespace sluice::transport::shm
