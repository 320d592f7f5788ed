// SPDX-License-Identifier: Apache-2.0
// Memory that is registered with libsharp; deregistered with the object, which keeps the session
// alive until then. Thread rule: as Session.
#pragma once

#include <memory>

#include "sharp/libsharp/session.h"
#include "transport/transport.h"

namespace sluice::sharp::libsharp {

struct DmaBuffer {
  int fd = -1;        // stays the caller's
  size_t offset = 0;  // of the memory in the buffer
};

class Region final : public transport::MemoryRegion {
 public:
  // `dma_buffer` may be null: the memory is registered by its address.
  static Result<std::unique_ptr<transport::MemoryRegion>> create(std::shared_ptr<Session> session,
                                                                 void* data, size_t size,
                                                                 transport::MemoryType type,
                                                                 const DmaBuffer* dma_buffer);
  ~Region() override;

  void* handle() const { return handle_; }

 private:
  Region(std::shared_ptr<Session> session, void* data, size_t size, transport::MemoryType type,
         void* handle)
      : MemoryRegion(static_cast<std::byte*>(data), size, type),
        session_(std::move(session)),
        handle_(handle) {}

  std::shared_ptr<Session> session_;
  void* handle_;
};

}  // namespace sluice::sharp::libsharp
