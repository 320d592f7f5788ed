// SPDX-License-Identifier: Apache-2.0
// In-network reduction by NVIDIA's SHARP: the entry to this folder.
//
// connect() is all-or-nothing as Client::connect() is: the ranks meet at rank 0's rendezvous, load
// libsharp_coll, open the SHARP job and the group, and agree after each step; the first no of any
// rank is what every rank returns. Blocks its caller: at most twice the connect timeout and a
// margin for what is ours, plus what libsharp takes in its own calls (docs/sharp.md).
#pragma once

#include <memory>
#include <span>

#include "sharp/client/client.h"
#include "sharp/libsharp/libsharp_client.h"
#include "sharp/libsharp/settings.h"

namespace sluice::sharp::libsharp {

// Arguments as Client::connect()'s.
Result<std::unique_ptr<LibsharpClient>> connect(transport::Context& context,
                                                const Settings& settings,
                                                std::span<const transport::ListenerAddress> handles,
                                                int rank, Rendezvous& rendezvous);

}  // namespace sluice::sharp::libsharp
