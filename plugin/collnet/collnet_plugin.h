// SPDX-License-Identifier: Apache-2.0
// The CollNet plugin behind NCCL's tables: one interface for all API versions, sizes in size_t.
// Devices, memory and close are the net plugin's. Errors are logged by who finds them. Thread rule:
// as NCCL's.
#pragma once

#include <span>

#include "plugin/collnet/collnet_comm.h"
#include "plugin/library.h"

namespace sluice::plugin::collnet {

// Fails, with the reason in one line, when in-network reduction is off: NCCL goes on with its ring.
Result<CommunicatorContext*> init(const InitArguments& arguments);
Status finalize(const void* context);

Result<ListenComm*> listen(const library::ContextKey& context, int device, void* handle);
// handles[i] is rank i's. Blocks, at most the connect timeout and a grace.
Result<Comm*> connect(std::span<void* const> handles, int rank, const void* listen_comm);

bool supports(int data_type, int reduce_operator);

Result<CollectiveRequest*> allreduce(Comm* comm, const AllreduceCall& call);
Result<CollectiveRequest*> allgather(Comm* comm, const AllgatherCall& call);
Result<CollectiveRequest*> reduce_scatter(Comm* comm, const ReduceScatterCall& call);
Result<bool> test(CollectiveRequest* request, size_t* bytes);

}  // namespace sluice::plugin::collnet
