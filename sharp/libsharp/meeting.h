// SPDX-License-Identifier: Apache-2.0
// How the ranks of a communicator meet at rank 0's rendezvous, for their out-of-band collectives.
//
// Blocks its caller, at most for the time given.
#pragma once

#include <memory>
#include <span>

#include "sharp/client/client.h"
#include "sharp/libsharp/out_of_band.h"

namespace sluice::sharp::libsharp {

// handles[i] is rank i's; `rendezvous` is this rank's own (used by rank 0 only). Whatever goes
// wrong among ranks that have met is told by the first agree(); an error is of a rank that met
// nobody.
Result<std::unique_ptr<OutOfBand>> meet(transport::Context& context,
                                        std::span<const transport::ListenerAddress> handles,
                                        int rank, Rendezvous& rendezvous, Duration timeout);

}  // namespace sluice::sharp::libsharp
