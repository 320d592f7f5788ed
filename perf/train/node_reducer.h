// SPDX-License-Identifier: Apache-2.0
// NodeReducer: sums contributions in the aggregation node, through a plugin's CollNet table.
//
// Every tensor is an iallreduce of its own, in place, all in flight at once.
// Thread rule: the user's thread; the communicator must outlive it.
#pragma once

#include <memory>
#include <vector>

#include "perf/driver/in_network.h"
#include "perf/train/training.h"

namespace sluice::train {

class NodeReducer final : public Reducer {
 public:
  static Result<std::unique_ptr<NodeReducer>> connect(perf::Communicator& communicator);

  Contribution memory() override;
  Status sum_gradients() override;
  Status sum_correct() override;
  uint64_t bytes_handed() const { return allreduce_->bytes_handed(); }

 private:
  NodeReducer();
  perf::CollectiveCall call_for(ncclDataType_t type, size_t offset, size_t count) const;

  perf::HostMemory memory_;  // gradient, loss, correct
  std::vector<perf::CollectiveCall> gradient_calls_;
  std::unique_ptr<perf::InNetwork> allreduce_;  // after the memory that it knows
};

}  // namespace sluice::train
