// SPDX-License-Identifier: Apache-2.0
#include "sharp/libsharp/region.h"

#include <utility>

namespace sluice::sharp::libsharp {

Result<std::unique_ptr<transport::MemoryRegion>> Region::create(std::shared_ptr<Session> session,
                                                                void* data, size_t size,
                                                                transport::MemoryType type,
                                                                const DmaBuffer* dma_buffer) {
  const Functions& functions = session->sharp_library().functions();
  if (data == nullptr || size == 0) {
    return fail(ErrorKind::invalid_argument,
                format_text("registration of %zu bytes at %p with SHARP", size, data));
  }
  void* handle = nullptr;
  int status = SHARP_COLL_SUCCESS;
  if (dma_buffer == nullptr) {
    status = functions.reg_mr(session->context(), data, size, &handle);
  } else if (functions.reg_mr_v2 == nullptr) {
    return fail(ErrorKind::refused, "this release of libsharp_coll registers no DMA-BUF memory");
  } else {
    sharp_coll_reg_params parameters{};
    parameters.field_mask = SHARP_COLL_REG_FIELD_DMABUF_FD | SHARP_COLL_REG_FIELD_DMABUF_OFFSET;
    parameters.dmabuf_fd = dma_buffer->fd;
    parameters.dmabuf_offset = dma_buffer->offset;
    status = functions.reg_mr_v2(session->context(), data, size, &parameters, &handle);
  }
  if (status < 0)
    return fail(call_error(session->sharp_library(), "registration of memory", status));
  return std::unique_ptr<transport::MemoryRegion>(
      new Region(std::move(session), data, size, type, handle));
}

Region::~Region() {
  session_->sharp_library().functions().dereg_mr(session_->context(), handle_);
}

}  // namespace sluice::sharp::libsharp
