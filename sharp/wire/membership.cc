// SPDX-License-Identifier: Apache-2.0
#include "sharp/wire/membership.h"

#include "sharp/wire/limits.h"

namespace sluice::sharp {

Status check(const GroupShape& shape) {
  if (shape.members < 1 || shape.members > kMaxMembers) {
    return fail(ErrorKind::refused, format_text("a group has 1 to %u members, not %u",
                                                unsigned{kMaxMembers}, unsigned{shape.members}));
  }
  if (shape.chunk_bytes < kMinChunkBytes || shape.chunk_bytes > kMaxChunkBytes ||
      shape.chunk_bytes % kChunkAlignment != 0) {
    return fail(ErrorKind::refused,
                format_text("a chunk has %u to %u bytes in multiples of %u, not %u", kMinChunkBytes,
                            kMaxChunkBytes, kChunkAlignment, shape.chunk_bytes));
  }
  if (shape.window < 1 || shape.window > kMaxChunkWindow || shape.latency_window < 1 ||
      shape.latency_window > kMaxChunkWindow) {
    return fail(ErrorKind::refused,
                format_text("a window has 1 to %u chunks, not %u and %u", kMaxChunkWindow,
                            shape.window, shape.latency_window));
  }
  if (shape.latency_bytes > kMaxLatencyBytes) {
    return fail(ErrorKind::refused, format_text("the latency class takes at most %u bytes, not %u",
                                                kMaxLatencyBytes, shape.latency_bytes));
  }
  if (shape.precision != Precision::compact && shape.precision != Precision::exact) {
    return fail(ErrorKind::refused,
                format_text("precision %u is unknown", static_cast<unsigned>(shape.precision)));
  }
  if (static_cast<unsigned>(shape.verification) > static_cast<unsigned>(Verification::all)) {
    return fail(ErrorKind::refused, format_text("verification %u is unknown",
                                                static_cast<unsigned>(shape.verification)));
  }
  return {};
}

Status check(const Path& path) {
  if (path.empty() || path.size() > kMaxTreeDepth) {
    return fail(ErrorKind::refused, format_text("a tree has 1 to %zu levels of nodes, not %zu",
                                                kMaxTreeDepth, path.size()));
  }
  for (const Hop& hop : path) {
    if (hop.node.empty()) return fail(ErrorKind::refused, "a node of the tree has no address");
    if (hop.children < 1 || hop.children > kMaxFanIn || hop.child >= hop.children) {
      return fail(
          ErrorKind::refused,
          format_text("node %s takes 1 to %u children, not child %u of %u", hop.node.c_str(),
                      unsigned{kMaxFanIn}, unsigned{hop.child}, unsigned{hop.children}));
    }
  }
  return {};
}

}  // namespace sluice::sharp
