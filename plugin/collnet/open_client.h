// SPDX-License-Identifier: Apache-2.0
// The client behind a CollNet comm: of Sluice's own trees, or of SHARP switches.
#pragma once

#include <memory>
#include <span>

#include "plugin/context.h"
#include "sharp/client/client.h"

namespace sluice::plugin::collnet {

// Blocks until all ranks have agreed, within the connect timeout and a grace.
Result<std::unique_ptr<sharp::Client>> open_client(
    CommunicatorContext& context, int device, std::span<const transport::ListenerAddress> handles,
    int rank, sharp::Rendezvous& rendezvous);

// What every SHARP switch reduces. Newer ones know more types, but NCCL asks before the ranks have
// compared theirs.
bool libsharp_reduces(sharp::DataType type, sharp::ReduceOperator reduce_operator);

}  // namespace sluice::plugin::collnet
