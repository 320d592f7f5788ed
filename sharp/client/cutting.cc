// SPDX-License-Identifier: Apache-2.0
#include "sharp/client/cutting.h"

#include <algorithm>

#include "sharp/wire/geometry.h"

namespace sluice::sharp {

WindowRange share_of(const BlockWindow& window, uint64_t rank) {
  const uint64_t begin = std::max(rank * window.block, window.offset);
  const uint64_t end = std::min((rank + 1) * window.block, window.offset + window.bytes);
  return begin < end ? WindowRange{begin - window.offset, end - begin} : WindowRange{};
}

Cutting::Cutting(const BlockWindow& window, uint32_t limit) : window_(window), limit_(limit) {
  if (window.bytes == 0) return;
  const uint64_t first = window.offset / window.block;
  const uint64_t last = (window.offset + window.bytes - 1) / window.block;
  chunks_ = chunks_of(share_of(window, first).bytes, limit);
  if (last == first) return;
  chunks_ += (last - first - 1) * chunks_of(window.block, limit);
  chunks_ += chunks_of(share_of(window, last).bytes, limit);
}

Cut Cutting::take() {
  const uint64_t rank = (window_.offset + at_) / window_.block;
  const WindowRange piece = share_of(window_, rank);
  const uint64_t left = piece.offset + piece.bytes - at_;
  const Cut cut{static_cast<uint16_t>(rank), at_,
                static_cast<uint32_t>(std::min<uint64_t>(left, limit_)), piece};
  at_ += cut.bytes;
  ++taken_;
  return cut;
}

}  // namespace sluice::sharp
