// SPDX-License-Identifier: Apache-2.0
#include "perf/driver/in_network_allreduce.h"

#include <algorithm>
#include <limits>

#include "perf/driver/data_type.h"
#include "perf/driver/nccl_log.h"

namespace sluice::perf {

Result<std::unique_ptr<InNetworkAllreduce>> InNetworkAllreduce::connect(
    Communicator& communicator) {
  auto link = CollectiveLink::connect(communicator);
  if (!link) return fail(std::move(link).error());
  return std::unique_ptr<InNetworkAllreduce>(new InNetworkAllreduce(std::move(*link)));
}

Status InNetworkAllreduce::prepare(std::byte* input, std::byte* output, size_t bytes) {
  release();
  const auto make = [&](std::byte* memory, std::unique_ptr<Registration>& to) {
    auto made =
        Registration::make(communicator(), *communicator().collnet(), link_.comm(), memory, bytes);
    if (!made) return Status(fail(std::move(made).error()));
    to = std::make_unique<Registration>(std::move(*made));
    return Status();
  };
  SLUICE_RETURN_IF_ERROR(make(input, input_region_));
  return make(output, output_region_);
}

void InNetworkAllreduce::release() {
  output_region_.reset();
  input_region_.reset();
}

uint64_t InNetworkAllreduce::bytes_handed() const {
  return link_.communicator().collnet()->bytes_handed();
}

Status InNetworkAllreduce::supports(ncclDataType_t type, ncclRedOp_t op) {
  CollNetApi& collnet = *communicator().collnet();
  int supported = 0;
  const ncclResult_t result = collnet.reduce_support(type, op, &supported);
  if (result != ncclSuccess) return fail(error_of(result, "reduceSupport"));
  if (supported != 0) return {};
  return fail(ErrorKind::refused, std::string("plugin ") + collnet.name() + " does not reduce " +
                                      info_of(type).name + " by " + info_of(op).name);
}

size_t InNetworkAllreduce::most_elements(size_t element_bytes) const {
  const size_t bytes = link_.communicator().collnet_properties().max_collective_bytes;
  const size_t count = std::max<size_t>(bytes / element_bytes, 1);
  constexpr size_t kInt = std::numeric_limits<int>::max();
  return link_.communicator().collnet()->version() <= 8 ? std::min(count, kInt) : count;
}

Status InNetworkAllreduce::start(const AllreduceCall& call, size_t first, size_t count,
                                 void** request) {
  const size_t element = info_of(call.type).bytes;
  auto* input = const_cast<std::byte*>(call.input) + first * element;
  const ncclResult_t result = communicator().collnet()->iallreduce(
      link_.comm(), input, call.output + first * element, count, element, call.type, call.op,
      input_region_->region(), output_region_->region(), request);
  if (result != ncclSuccess) return fail(error_of(result, "iallreduce"));
  return {};
}

// The calls of some operations, in order: each operation goes in pieces of at most the plugin's
// limit.
class InNetworkAllreduce::Flight {
 public:
  Flight(InNetworkAllreduce& owner, std::span<const AllreduceCall> operations)
      : owner_(owner), operations_(operations) {
    skip_finished();
  }

  bool landed() const { return operation_ == operations_.size() && completed_ == posted_; }

  Result<bool> advance() {
    const size_t before = posted_ + completed_;
    if (operation_ < operations_.size() && posted_ - completed_ < kMostCalls) {
      SLUICE_RETURN_IF_ERROR(post());
    }
    if (completed_ < posted_) SLUICE_RETURN_IF_ERROR(test());
    return posted_ + completed_ != before;
  }

 private:
  Status post() {
    const AllreduceCall& call = operations_[operation_];
    const size_t most = owner_.most_elements(info_of(call.type).bytes);
    const size_t count = std::min(most, call.count - started_);
    void*& request = requests_[posted_ % kMostCalls];
    request = nullptr;
    SLUICE_RETURN_IF_ERROR(owner_.start(call, started_, count, &request));
    if (request == nullptr) return {};
    started_ += count;
    ++posted_;
    skip_finished();
    return {};
  }

  Status test() {
    int done = 0;
    int size = 0;
    const ncclResult_t result =
        owner_.communicator().collnet()->test(requests_[completed_ % kMostCalls], &done, &size);
    if (result != ncclSuccess) return fail(error_of(result, "test of an iallreduce"));
    if (done != 0) ++completed_;
    return {};
  }

  void skip_finished() {
    while (operation_ < operations_.size() && started_ == operations_[operation_].count) {
      ++operation_;
      started_ = 0;
    }
  }

  InNetworkAllreduce& owner_;
  std::span<const AllreduceCall> operations_;
  size_t operation_ = 0;
  size_t started_ = 0;  // elements of that operation
  size_t posted_ = 0, completed_ = 0;
  void* requests_[kMostCalls] = {};
};

Status InNetworkAllreduce::run_all(std::span<const AllreduceCall> operations) {
  Patience& patience = communicator().patience();
  Flight flight(*this, operations);
  while (!flight.landed()) {
    const Result<bool> moved = flight.advance();
    if (!moved) return fail(moved.error());
    if (*moved) {
      patience.progress();
    } else {
      SLUICE_RETURN_IF_ERROR(patience.idle("in an in-network allreduce"));
    }
  }
  return {};
}

}  // namespace sluice::perf
