// SPDX-License-Identifier: Apache-2.0
// The memory registered on one communicator object, as NCCL's mhandles.
//
// Ownership: the table owns handles until they are removed or the table goes.
// Thread rule: add() and remove() from any thread; MemoryHandle::uses counts the requests that name
// it.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "transport/transport.h"

namespace sluice::plugin {

struct MemoryHandle {
  std::unique_ptr<transport::MemoryRegion> region;
  std::atomic<int> uses{0};
};

class MemoryTable {
 public:
  MemoryHandle* add(std::unique_ptr<transport::MemoryRegion> region) {
    auto handle = std::make_unique<MemoryHandle>();
    handle->region = std::move(region);
    MemoryHandle* key = handle.get();
    const std::lock_guard lock(mutex_);
    handles_.emplace(key, std::move(handle));
    return key;
  }

  // nullptr: not one of ours.
  std::unique_ptr<MemoryHandle> remove(const void* key) {
    const std::lock_guard lock(mutex_);
    const auto found = handles_.find(key);
    if (found == handles_.end()) return nullptr;
    auto handle = std::move(found->second);
    handles_.erase(found);
    return handle;
  }

 private:
  std::mutex mutex_;
  std::unordered_map<const void*, std::unique_ptr<MemoryHandle>> handles_;
};

}  // namespace sluice::plugin
