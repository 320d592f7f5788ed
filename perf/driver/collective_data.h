// SPDX-License-Identifier: Apache-2.0
// CollectiveData: a rank's buffers for one collective: laid out, filled with test data, checked.
//
// In place: an allreduce's output is its input; an allgather's input lies where it belongs in the
// output; a reduce-scatter's output lies where it comes from in the input. Thread rule: one thread.
// Ownership: owns the memory; algorithms know it as long as they live.
#pragma once

#include "perf/driver/algorithm.h"
#include "perf/driver/peer_link.h"
#include "perf/driver/test_data.h"

namespace sluice::perf {

class CollectiveData {
 public:
  // For vectors of up to `most_bytes`.
  CollectiveData(Collective collective, bool in_place, int rank, int ranks, size_t most_bytes);

  Collective collective() const { return collective_; }
  // What algorithms are to know.
  std::byte* input() const { return input_.data(); }
  std::byte* output() const { return in_place_ ? input_.data() : output_.data(); }
  size_t size() const { return input_.size(); }

  // Elements of a vector of about `bytes`: at least one for each rank that has a block of its own.
  size_t count_for(size_t bytes, size_t element_bytes) const;
  CollectiveCall call_for(ncclDataType_t type, ncclRedOp_t op, size_t count) const;

  // This rank's input of the iteration `seed`.
  void fill_input(const CollectiveCall& call, uint64_t seed);
  // Leaves nothing of an answer in the output; before fill_input(), because of in place.
  void spoil_output(const CollectiveCall& call);
  // How many elements of the output are out of bounds; test_data.h says what `roundings` means.
  size_t count_wrong_output(const CollectiveCall& call, uint64_t seed, int roundings) const;
  // Of the output; 0 where ranks get different ones.
  uint64_t hash_of_output(const CollectiveCall& call) const;

 private:
  size_t own_first(const CollectiveCall& call) const {
    return static_cast<size_t>(rank_) * call.block(ranks_);
  }
  size_t output_count(const CollectiveCall& call) const {
    return collective_ == Collective::reduce_scatter ? call.block(ranks_) : call.count;
  }

  const Collective collective_;
  const bool in_place_;
  const int rank_;
  const int ranks_;
  HostMemory input_;
  HostMemory output_;
};

}  // namespace sluice::perf
