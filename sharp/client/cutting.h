// SPDX-License-Identifier: Apache-2.0
// How one operation of any collective is cut into chunks that all ranks cut alike. Pure.
//
// An allreduce is one piece. The window of an allgather or reduce-scatter is a piece for each block
// that has bytes in it: a chunk belongs to one block, so it has one source or one owner. Chunks
// come in the order of the window. Sizes and places are bytes.
#pragma once

#include <cstdint>

namespace sluice::sharp {

// The window of a vector that has a block for each rank.
struct BlockWindow {
  uint64_t block = 0;   // bytes of each rank's block
  uint64_t offset = 0;  // of the window in the vector
  uint64_t bytes = 0;   // of the window
};

// A range of the window.
struct WindowRange {
  uint64_t offset = 0;
  uint64_t bytes = 0;
};

// What the block of a rank has in the window; bytes 0: nothing.
WindowRange share_of(const BlockWindow& window, uint64_t rank);

struct Cut {
  uint16_t rank = 0;    // whose block; 0 in an allreduce
  uint64_t offset = 0;  // in the window
  uint32_t bytes = 0;
  WindowRange piece;  // that it is cut from
};

class Cutting {
 public:
  Cutting() = default;
  // `limit`: the largest chunk. An allreduce is a window of one block.
  Cutting(const BlockWindow& window, uint32_t limit);

  uint64_t chunks() const { return chunks_; }
  uint64_t taken() const { return taken_; }
  bool done() const { return taken_ == chunks_; }
  // The next chunk; not done().
  Cut take();

 private:
  BlockWindow window_;
  uint32_t limit_ = 1;
  uint64_t chunks_ = 0;
  uint64_t taken_ = 0;
  uint64_t at_ = 0;  // in the window
};

}  // namespace sluice::sharp
