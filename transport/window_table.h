// SPDX-License-Identifier: Apache-2.0
// The windows that this process has announced on one connection, and the checks every incoming
// write passes. For transports whose receiver moves the bytes (tcp, shm's ring). Thread rule: as
// its connection.
#pragma once

#include <span>
#include <vector>

#include "transport/transport.h"

namespace sluice::transport {

class WindowTable {
 public:
  void set(const LocalWindow& window);
  void withdraw(WindowId id);
  bool announced(WindowId id) const { return id < slots_.size() && slots_[id].announced; }
  // Where [offset, offset + size) of the window is, or why nothing may be written there.
  Result<std::byte*> locate(WindowId id, uint64_t offset, uint64_t size) const;

 private:
  struct Slot {
    bool announced = false;
    std::byte* address = nullptr;
    size_t size = 0;
  };
  std::vector<Slot> slots_;
};

// What a caller may not pass, whatever the transport.
Status check_announcement(std::span<const LocalWindow> windows, std::span<const std::byte> note);
Status check_write(const Write& write);
Status check_message(size_t size);
// Shared by the transports that need no keys.
Result<std::unique_ptr<MemoryRegion>> register_host_memory(Kind kind, void* data, size_t size,
                                                           MemoryType type);

}  // namespace sluice::transport
