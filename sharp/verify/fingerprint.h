// SPDX-License-Identifier: Apache-2.0
// Checking the arithmetic of a tree without doing it again: fingerprints that commute with the
// reduction (after Freivalds: compare random functionals of input and output instead of the
// values).
//
// A rank computes the fingerprint of its chunk, the nodes combine the fingerprints of their
// children by themselves, apart from the payloads (the combined one is the *claim*), and whoever
// gets a payload compares its fingerprint with the claim. What an operator allows:
//
//   sum, integers   two linear functionals with odd weights, modulo the type's range: exact; every
//                   single wrong bit shows
//   sum, floats     a sum with random signs, in fp64, and the norm that bounds what rounding may
//                   have done to it: shows errors above that bound
//   min, max        the extreme of each of two random halves: exact, one-sided (agrees() says a
//                   wrong element only if it passes the extreme of its half). The other side is for
//                   the ranks: no result may lie on the wrong side of their own input (dominated())
//   prod            the product at two random places: a spot check
//
// What cannot be checked (infinities, NaN, saturated fp8) agrees with everything.
// Thread rule: pure functions. Sizes are elements.
#pragma once

#include <cstddef>
#include <cstdint>

#include "sharp/wire/chunk.h"
#include "sharp/wire/membership.h"
#include "sharp/wire/types.h"

namespace sluice::sharp {

// The same on every rank and node for a chunk, and not known before the group exists.
uint64_t fingerprint_seed(const ChunkHeader& header);
// Whether chunks with this seed carry a claim.
bool is_claimed(Verification verification, uint64_t seed);

// `partial`: the values are fp32 (kPartialForm), else elements of `type`.
Claim fingerprint(DataType type, ReduceOperator reduce_operator, bool partial, uint64_t seed,
                  const void* data, size_t elements);
Claim combine(DataType type, ReduceOperator reduce_operator, const Claim& a, const Claim& b);

// How often values were rounded on the way to a payload, for the tolerance.
struct Roundings {
  int ranks = 1;   // summands
  int levels = 1;  // roundings to the type itself
};

bool agrees(DataType type, ReduceOperator reduce_operator, const Claim& payload,
            const Claim& claimed, size_t elements, const Roundings& roundings);

// min and max: no element of the result is worse than this rank's own. True for other operators.
bool dominated(DataType type, ReduceOperator reduce_operator, const void* result, const void* input,
               size_t elements);

}  // namespace sluice::sharp
