// SPDX-License-Identifier: Apache-2.0
#include "sharp/agg/memory_pool.h"

#include <sys/mman.h>

#include <cerrno>

namespace sluice::sharp {

Result<MemoryPool::Reservation> MemoryPool::reserve(size_t bytes) {
  if (!can_reserve(bytes)) {
    return fail(ErrorKind::refused, format_text("%zu of %zu bytes are reserved, %zu are needed",
                                                reserved_, reserved_limit_, bytes));
  }
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) {
    return fail_errno(errno, format_text("mapping %zu bytes for a group", bytes));
  }
  reserved_ += bytes;
  return Reservation(this, {static_cast<std::byte*>(memory), bytes});
}

bool MemoryPool::Reservation::activate() {
  if (active_) return true;
  if (!pool_->can_activate(memory_.size())) return false;
  pool_->active_ += memory_.size();
  active_ = true;
  return true;
}

void MemoryPool::Reservation::rest() {
  if (!active_) return;
  ::madvise(memory_.data(), memory_.size(), MADV_DONTNEED);
  pool_->active_ -= memory_.size();
  active_ = false;
}

MemoryPool::Reservation::~Reservation() {
  if (pool_ == nullptr) return;
  ::munmap(memory_.data(), memory_.size());
  pool_->reserved_ -= memory_.size();
  if (active_) pool_->active_ -= memory_.size();
}

}  // namespace sluice::sharp
