// SPDX-License-Identifier: Apache-2.0
#include "sharp/verify/claims.h"

namespace sluice::sharp {
namespace {

bool is_reduced(const ChunkHeader& header) {
  return header.collective == Collective::allreduce || header.collective == Collective::scatter;
}

size_t elements_of(const ChunkHeader& header) {
  return header.bytes / size_of(header.type);
}

std::string place_of(const ChunkHeader& header) {
  return format_text(
      "chunk %llu of the %s class (operation %llu, %s of %s, %u bytes at %llu)",
      static_cast<unsigned long long>(header.sequence), name_of(header.traffic_class),
      static_cast<unsigned long long>(header.operation), name_of(header.reduce_operator),
      name_of(header.type), header.bytes, static_cast<unsigned long long>(header.offset));
}

}  // namespace

void add_claim(const GroupShape& shape, ChunkHeader& header, const std::byte* payload) {
  if (shape.verification == Verification::off || !is_reduced(header)) return;
  header.group = shape.group;  // the seed is made of it
  const uint64_t seed = fingerprint_seed(header);
  if (header.payload_bytes == 0 || !is_claimed(shape.verification, seed)) return;
  header.flags |= kClaimed;
  header.claim =
      fingerprint(header.type, header.reduce_operator, false, seed, payload, elements_of(header));
}

Status check_claim(const GroupShape& shape, const ChunkHeader& header, const std::byte* payload,
                   int levels) {
  if ((header.flags & kClaimed) == 0 || header.payload_bytes == 0) return {};
  const size_t elements = elements_of(header);
  const bool partial = (header.flags & kPartialForm) != 0;
  const Claim found = fingerprint(header.type, header.reduce_operator, partial,
                                  fingerprint_seed(header), payload, elements);
  const Roundings roundings{shape.members, partial ? 0 : levels};
  if (agrees(header.type, header.reduce_operator, found, header.claim, elements, roundings)) {
    return {};
  }
  return fail(ErrorKind::remote,
              "computed " + place_of(header) +
                  " wrongly: what came does not amount to what the ranks put in");
}

Status check_own(const ChunkHeader& header, const std::byte* result, const std::byte* input) {
  if ((header.flags & kClaimed) == 0) return {};
  if (dominated(header.type, header.reduce_operator, result, input, elements_of(header))) return {};
  return fail(ErrorKind::remote, "computed " + place_of(header) +
                                     " wrongly: a value is worse than one that this rank put in");
}

}  // namespace sluice::sharp
