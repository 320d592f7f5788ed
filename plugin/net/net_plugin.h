// SPDX-License-Identifier: Apache-2.0
// The net plugin behind NCCL's tables: one interface for all API versions, sizes in size_t.
// plugin/abi/table_builder.h makes the tables from it. Errors are logged by who finds them; the
// caller only turns them into a code. Thread rule: as NCCL's (docs/architecture.md); a null result
// pointer is the caller's business.
#pragma once

#include <span>

#include "plugin/comm.h"
#include "plugin/library.h"
#include "plugin/net/net_comm.h"

namespace sluice::plugin::net {

Result<CommunicatorContext*> init(const InitArguments& arguments);
Status finalize(const void* context);
Status set_attributes(const void* context, const abi::NetAttributes* attributes);

// Also CollNet's: the two report the same devices.
Result<int> device_count();
Result<const DeviceProperties*> properties(int device);

Result<ListenComm*> listen(const library::ContextKey& context, int device, void* handle);
// nullptr: not yet, call again.
Result<Comm*> connect(const library::ContextKey& context, int device, const void* handle);
Result<Comm*> accept(const void* listen_comm);

Result<NetRequest*> send(Comm* comm, const void* data, size_t size, int tag, void* handle);
Result<NetRequest*> receive(Comm* comm, std::span<const PostedBuffer> buffers);
Result<transport::Completion> test(NetRequest* request);

// Shared with CollNet.
Result<MemoryHandle*> register_memory(Comm* comm, void* data, size_t size, int type);
Status deregister_memory(Comm* comm, const void* handle);
void close(Comm* comm);

}  // namespace sluice::plugin::net
