// SPDX-License-Identifier: Apache-2.0
// From the arguments of a call to an operation: checks them, chooses the class, stages what does
// not lie in one piece. Nothing is sent here. Thread rule: none of its own.
#pragma once

#include "base/result.h"
#include "sharp/client/operation.h"
#include "sharp/wire/membership.h"

namespace sluice::sharp {

// Blocks smaller than this are not worth a chunk each: such allgathers and reduce-scatters are done
// as allreduces of the whole window, as those of the latency class are. Bytes.
inline constexpr uint64_t kSmallestPiece = 1024;

// Fill in what the operation is; an error leaves it unusable. `rank`: this one.
Status prepare(Operation& operation, const AllreduceArguments& arguments, const GroupShape& shape,
               uint16_t rank);
Status prepare(Operation& operation, const AllgatherArguments& arguments, const GroupShape& shape,
               uint16_t rank);
Status prepare(Operation& operation, const ReduceScatterArguments& arguments,
               const GroupShape& shape, uint16_t rank);

// All results have come: what was staged goes to the caller.
void deliver(Operation& operation);

}  // namespace sluice::sharp
