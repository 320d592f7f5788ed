// SPDX-License-Identifier: Apache-2.0
#include "perf/driver/ring_schedule.h"

#include <algorithm>

namespace sluice::perf {
namespace {

constexpr size_t divide_up(size_t a, size_t b) {
  return (a + b - 1) / b;
}

// One loop: `chunk` elements per rank; rank 0's begin at `start`, each next rank's `stride`
// further.
class Loop {
 public:
  Loop(const RingShape& shape, size_t start, size_t stride, size_t chunk,
       std::vector<RingStep>& steps)
      : shape_(shape), start_(start), stride_(stride), chunk_(chunk), steps_(steps) {
    slice_ = std::clamp(divide_up(chunk, shape.slices_per_chunk),
                        std::min(shape.least_slice, shape.most_slice), shape.most_slice);
  }

  void add_all() {
    const int n = shape_.ranks;
    const int own = shape_.rank;
    const bool reduces = shape_.collective != Collective::allgather;
    const bool gathers = shape_.collective != Collective::reduce_scatter;
    if (reduces) {
      add({false, false, false, true}, own - 1);
      for (int hop = 2; hop < n; ++hop) add({true, true, false, true}, own - hop);
    }
    add({reduces, reduces, true, gathers}, own);
    if (!gathers) return;
    for (int hop = 1; hop < n - 1; ++hop) add({true, false, true, true}, own - hop);
    add({true, false, true, false}, own + 1);
  }

 private:
  void add(RingStep kind, int chunk_index) {
    const int n = shape_.ranks;
    const auto index = static_cast<size_t>((chunk_index % n + n) % n);
    const size_t begin = start_ + index * stride_;
    const size_t end = std::min(begin + chunk_, shape_.count);
    for (size_t at = begin; at < end; at += slice_) {
      kind.first = at;
      kind.count = std::min(slice_, end - at);
      steps_.push_back(kind);
    }
  }

  const RingShape& shape_;
  size_t start_;
  size_t stride_;
  size_t chunk_;
  size_t slice_ = 1;
  std::vector<RingStep>& steps_;
};

}  // namespace

std::vector<RingStep> ring_steps(const RingShape& shape) {
  std::vector<RingStep> steps;
  const auto ranks = static_cast<size_t>(shape.ranks);
  const size_t most_chunk = shape.most_slice * shape.slices_per_chunk;
  if (shape.collective != Collective::allreduce) {
    const size_t block = shape.count / ranks;
    for (size_t start = 0; start < block; start += most_chunk) {
      Loop(shape, start, block, std::min(most_chunk, block - start), steps).add_all();
    }
    return steps;
  }
  for (size_t start = 0; start < shape.count;) {
    const size_t chunk = std::min(most_chunk, divide_up(shape.count - start, ranks));
    Loop(shape, start, chunk, chunk, steps).add_all();
    start += chunk * ranks;
  }
  return steps;
}

}  // namespace sluice::perf
