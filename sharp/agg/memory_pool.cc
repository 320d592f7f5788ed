// SPDX-License-Identifier: Apache-2.0
#include "sharp/agg/memory_pool.h"

#include <sys/mman.h>

#include <cerrno>

namespace sluice::sharp {

Result<MemoryPool::Lease> MemoryPool::lease(size_t bytes) {
  if (!has_room_for(bytes)) {
    return fail(ErrorKind::refused, format_text("%zu of %zu bytes are in use, %zu more are needed",
                                                used_, limit_, bytes));
  }
  if (bytes == 0) return Lease();
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    return fail_errno(errno, format_text("mapping %zu bytes for a group", bytes));
  }
  used_ += bytes;
  return Lease(this, {static_cast<std::byte*>(memory), bytes});
}

MemoryPool::Lease::~Lease() {
  if (pool_ == nullptr) return;
  ::munmap(memory_.data(), memory_.size());
  pool_->used_ -= memory_.size();
}

}  // namespace sluice::sharp
