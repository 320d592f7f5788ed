// SPDX-License-Identifier: Apache-2.0
#include "perf/train/node_reducer.h"

namespace sluice::train {
namespace {

constexpr size_t kAlignment = 64;

size_t loss_offset() {
  return (Network::weight_count() * sizeof(float) + kAlignment - 1) / kAlignment * kAlignment;
}
size_t correct_offset() {
  return loss_offset() + kAlignment;
}

}  // namespace

NodeReducer::NodeReducer() : memory_(correct_offset() + kAlignment) {
  for (const Tensor& tensor : Network::tensors()) {
    gradient_calls_.push_back(call_for(ncclFloat32, tensor.first * sizeof(float), tensor.count));
  }
  gradient_calls_.push_back(call_for(ncclFloat32, loss_offset(), 1));
}

Result<std::unique_ptr<NodeReducer>> NodeReducer::connect(perf::Communicator& communicator) {
  std::unique_ptr<NodeReducer> reducer(new NodeReducer);
  auto allreduce = perf::InNetwork::connect(communicator);
  if (!allreduce) return fail(std::move(allreduce).error());
  reducer->allreduce_ = std::move(*allreduce);
  const perf::HostMemory& memory = reducer->memory_;
  SLUICE_RETURN_IF_ERROR(communicator.bootstrap().agree(
      reducer->allreduce_->prepare(memory.data(), memory.data(), memory.size())));
  return reducer;
}

perf::CollectiveCall NodeReducer::call_for(ncclDataType_t type, size_t offset, size_t count) const {
  std::byte* const data = memory_.data() + offset;
  return {perf::Collective::allreduce, type, ncclSum, data, data, count};
}

Contribution NodeReducer::memory() {
  std::byte* const data = memory_.data();
  return {{reinterpret_cast<float*>(data), Network::weight_count()},
          {reinterpret_cast<float*>(data + loss_offset()), 1},
          {reinterpret_cast<int32_t*>(data + correct_offset()), 1}};
}

Status NodeReducer::sum_gradients() {
  return allreduce_->communicator().on_progress(
      [this] { return allreduce_->run_all(gradient_calls_); });
}

Status NodeReducer::sum_correct() {
  const perf::CollectiveCall call = call_for(ncclInt32, correct_offset(), 1);
  return allreduce_->communicator().on_progress([&] { return allreduce_->run(call); });
}

}  // namespace sluice::train
