// SPDX-License-Identifier: Apache-2.0
// NCCL's 128-byte connection handle: a ListenerAddress, padded with zeros. Any thread.
#pragma once

#include <cstring>

#include "plugin/abi/nccl_types.h"
#include "transport/endpoint.h"

namespace sluice::plugin {

static_assert(sizeof(transport::ListenerAddress) <= abi::kHandleBytes);

inline void write_handle(void* handle, const transport::ListenerAddress& address) {
  std::memset(handle, 0, abi::kHandleBytes);
  std::memcpy(handle, &address, sizeof address);
}

// What the memory holds, whatever it is: transport::check() tells a foreign handle.
inline transport::ListenerAddress read_handle(const void* handle) {
  transport::ListenerAddress address;
  std::memcpy(&address, handle, sizeof address);
  return address;
}

}  // namespace sluice::plugin
