// SPDX-License-Identifier: Apache-2.0
#include "transport/shm/segment.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <bit>

namespace sluice::transport::shm {
namespace {

constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

struct SegmentHeader {
  alignas(kCacheLine) uint64_t probe[2];
};

constexpr size_t kSidesAt = sizeof(SegmentHeader);
constexpr size_t kRingsAt = kSidesAt + 2 * sizeof(SideControl);
constexpr size_t kDataAt = (kRingsAt + 2 * sizeof(RingControl) + 4095) / 4096 * 4096;

}  // namespace

size_t Segment::size_for(size_t ring_bytes) {
  return kDataAt + 2 * ring_bytes;
}

Segment::~Segment() {
  if (memory_ != nullptr) ::munmap(memory_, size_);
}

Result<Segment::Created> Segment::create(size_t ring_bytes) {
  ring_bytes = std::bit_ceil(std::clamp(ring_bytes, kMinRing, kMaxRing));
  const size_t size = size_for(ring_bytes);
  FileDescriptor memory(::memfd_create("sluice", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!memory) return fail_errno(errno, "no shared memory could be made");
  if (::ftruncate(memory.get(), static_cast<off_t>(size)) != 0 ||
      ::fcntl(memory.get(), F_ADD_SEALS, kSeals) != 0) {
    return fail_errno(errno, format_text("no %zu bytes of shared memory could be had", size));
  }
  auto segment = map(memory, size, ring_bytes);
  if (!segment) return fail(std::move(segment).error());
  return Created{std::move(*segment), std::move(memory)};
}

Result<Segment> Segment::map(const FileDescriptor& memory, size_t size, size_t ring_bytes) {
  if (!std::has_single_bit(ring_bytes) || ring_bytes < kMinRing || ring_bytes > kMaxRing ||
      size != size_for(ring_bytes)) {
    return fail(ErrorKind::remote,
                format_text("shared memory of %zu bytes with rings of %zu bytes is not "
                            "what Sluice makes",
                            size, ring_bytes));
  }
  struct stat status {};
  const int seals = ::fcntl(memory.get(), F_GET_SEALS);
  if (::fstat(memory.get(), &status) != 0 || static_cast<size_t>(status.st_size) != size ||
      seals < 0 || (seals & F_SEAL_SHRINK) == 0) {
    return fail(ErrorKind::remote, "the shared memory passed by the peer is not what it said");
  }
  void* address = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, memory.get(), 0);
  if (address == MAP_FAILED) return fail_errno(errno, "shared memory cannot be mapped");
  Segment segment;
  segment.memory_ = static_cast<std::byte*>(address);
  segment.size_ = size;
  segment.ring_bytes_ = ring_bytes;
  return segment;
}

// Fresh memfd pages are zero, which is what every control word starts as.
SideControl& Segment::side(int index) const {
  return reinterpret_cast<SideControl*>(memory_ + kSidesAt)[index];
}

RingControl& Segment::ring(int index) const {
  return reinterpret_cast<RingControl*>(memory_ + kRingsAt)[index];
}

uint64_t& Segment::probe_word(int side) const {
  return reinterpret_cast<SegmentHeader*>(memory_)->probe[side];
}

std::byte* Segment::ring_data(int index) const {
  return memory_ + kDataAt + static_cast<size_t>(index) * ring_bytes_;
}

}  // namespace sluice::transport::shm
