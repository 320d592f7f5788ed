// SPDX-License-Identifier: Apache-2.0
#include "plugin/comm.h"

#include <utility>

namespace sluice::plugin {

Comm::Comm(Kind kind, std::shared_ptr<CommunicatorContext> context, std::string what)
    : kind_(kind), context_(std::move(context)), what_(std::move(what)) {}

Result<MemoryHandle*> Comm::register_memory(void* data, size_t size, int type) {
  if (type != abi::kPointerHost) {
    return refuse(format_text("only host memory can be registered, not pointer type %d", type));
  }
  if (data == nullptr) return refuse("registration of memory at a null address");
  const std::lock_guard lock(registration_);
  auto region = register_region(data, size);
  if (!region) {
    SLUICE_WARN(logger(), net, "%s: %s", what_.c_str(), region.error().message.c_str());
    return fail(std::move(region).error());
  }
  return memory_.add(*std::move(region));
}

void Comm::deregister_memory(const void* handle) {
  if (handle == nullptr) return;
  const std::unique_ptr<MemoryHandle> removed = memory_.remove(handle);
  if (removed == nullptr) {
    static_cast<void>(refuse(format_text("deregistration of %p, which is not registered", handle)));
    return;
  }
  if (removed->uses.load() == 0) return;
  // An abort. The peer may still be writing; cut it off before the memory goes back.
  const std::scoped_lock locks(registration_, driver_);
  if (!error_) {
    error_ = Error{ErrorKind::invalid_usage, 0,
                   what_ + ": memory was deregistered while a request was using it"};
  }
  drop_connection();
}

Status Comm::check_alive() const {
  if (error_) return fail(*error_);
  return {};
}

tl::unexpected<Error> Comm::fail_for_good(Error error) {
  if (!error_) {
    SLUICE_WARN(logger(), net, "%s: %s", what_.c_str(), error.message.c_str());
    error_ = std::move(error);
  }
  return fail(*error_);
}

tl::unexpected<Error> Comm::refuse(const std::string& message) {
  std::string text = what_ + ": " + message;
  if (refusals_.allow()) SLUICE_WARN(logger(), net, "%s", text.c_str());
  return fail(ErrorKind::invalid_argument, std::move(text));
}

Result<const transport::MemoryRegion*> Comm::region_of(void* handle, const void* data,
                                                       size_t size) {
  if (data == nullptr && size != 0) {
    return refuse(format_text("%zu bytes at a null address", size));
  }
  if (handle == nullptr) return nullptr;
  const transport::MemoryRegion& region = *static_cast<MemoryHandle*>(handle)->region;
  if (size != 0 && !region.contains(data, size)) {
    return refuse(format_text("%zu bytes at %p are outside the registered %zu bytes at %p", size,
                              data, region.size(), static_cast<void*>(region.address())));
  }
  return &region;
}

void claim(std::span<MemoryHandle* const> handles) {
  for (MemoryHandle* handle : handles) {
    if (handle != nullptr) handle->uses.fetch_add(1);
  }
}

void release(std::span<MemoryHandle* const> handles) {
  for (MemoryHandle* handle : handles) {
    if (handle != nullptr) handle->uses.fetch_sub(1);
  }
}

}  // namespace sluice::plugin
