// SPDX-License-Identifier: Apache-2.0
// Claims on chunks: which carry one, how a rank makes it, how whoever gets a payload checks it.
// docs/verification.md. Thread rule: pure functions.
#pragma once

#include <cstddef>

#include "base/result.h"
#include "sharp/verify/fingerprint.h"
#include "sharp/wire/chunk.h"
#include "sharp/wire/membership.h"

namespace sluice::sharp {

// A rank's chunk on its way up: its claim is filled in, if the group verifies this chunk and its
// payload is a summand (not what a recovery provides, not an allgather's).
void add_claim(const GroupShape& shape, ChunkHeader& header, const std::byte* payload);

// A payload that came from a node, with the claim that came with it. `levels`: nodes that have
// rounded it. An error is a sentence that goes on after the node's name.
Status check_claim(const GroupShape& shape, const ChunkHeader& header, const std::byte* payload,
                   int levels);

// A result at a rank, against the rank's own input. An error as above.
Status check_own(const ChunkHeader& header, const std::byte* result, const std::byte* input);

}  // namespace sluice::sharp
