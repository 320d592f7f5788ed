// SPDX-License-Identifier: Apache-2.0
#include "transport/window_table.h"

namespace sluice::transport {

void WindowTable::set(const LocalWindow& window) {
  if (window.id >= slots_.size()) slots_.resize(window.id + 1);
  slots_[window.id] = {true, window.address, window.size};
}

void WindowTable::withdraw(WindowId id) {
  if (id < slots_.size()) slots_[id] = {};
}

Result<std::byte*> WindowTable::locate(WindowId id, uint64_t offset, uint64_t size) const {
  if (!announced(id)) {
    return fail(ErrorKind::remote,
                format_text("a write into window %u, which is not announced", id));
  }
  const Slot& slot = slots_[id];
  if (offset > slot.size || size > slot.size - offset) {
    return fail(
        ErrorKind::remote,
        format_text("a write of %llu bytes at offset %llu of window %u, which has %zu bytes",
                    static_cast<unsigned long long>(size), static_cast<unsigned long long>(offset),
                    id, slot.size));
  }
  return slot.address + offset;
}

Status check_announcement(std::span<const LocalWindow> windows, std::span<const std::byte> note) {
  if (windows.size() > kMaxWindowsPerNote || note.size() > kMaxNote) {
    return fail(ErrorKind::invalid_argument,
                format_text("an announcement of %zu windows and a note of %zu bytes is too large",
                            windows.size(), note.size()));
  }
  for (const LocalWindow& window : windows) {
    if (window.id >= kMaxWindows || (window.address == nullptr && window.size > 0)) {
      return fail(
          ErrorKind::invalid_argument,
          format_text("window %u of %zu bytes cannot be announced", window.id, window.size));
    }
  }
  return {};
}

Status check_write(const Write& write) {
  const bool fits =
      write.offset <= write.window.size && write.size <= write.window.size - write.offset;
  if (!fits || write.window.id >= kMaxWindows || write.record.size() > kMaxRecord ||
      (write.data == nullptr && write.size > 0)) {
    return fail(
        ErrorKind::invalid_argument,
        format_text("a write of %zu bytes at offset %llu does not fit into window %u of %llu bytes",
                    write.size, static_cast<unsigned long long>(write.offset), write.window.id,
                    static_cast<unsigned long long>(write.window.size)));
  }
  return {};
}

Status check_message(size_t size) {
  if (size <= kMaxMessage) return {};
  return fail(ErrorKind::invalid_argument,
              format_text("a message of %zu bytes is too long, at most %zu", size, kMaxMessage));
}

Result<std::unique_ptr<MemoryRegion>> register_host_memory(Kind kind, void* data, size_t size,
                                                           MemoryType type) {
  if (type != MemoryType::host) {
    return fail(ErrorKind::invalid_argument,
                format_text("%s moves host memory only, not device memory", name_of(kind)));
  }
  return std::make_unique<MemoryRegion>(static_cast<std::byte*>(data), size, type);
}

}  // namespace sluice::transport
