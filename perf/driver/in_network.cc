// SPDX-License-Identifier: Apache-2.0
#include "perf/driver/in_network.h"

#include <algorithm>
#include <limits>

#include "perf/driver/data_type.h"
#include "perf/driver/nccl_log.h"

namespace sluice::perf {

Result<std::unique_ptr<InNetwork>> InNetwork::connect(Communicator& communicator) {
  auto link = CollectiveLink::connect(communicator);
  if (!link) return fail(std::move(link).error());
  return std::unique_ptr<InNetwork>(new InNetwork(std::move(*link)));
}

Status InNetwork::prepare(std::byte* input, std::byte* output, size_t bytes) {
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

void InNetwork::release() {
  output_region_.reset();
  input_region_.reset();
}

uint64_t InNetwork::bytes_handed() const {
  return link_.communicator().collnet()->bytes_handed();
}

Status InNetwork::supports(Collective collective, ncclDataType_t type, ncclRedOp_t op) {
  CollNetApi& collnet = *communicator().collnet();
  if (collective != Collective::allreduce && !collnet.has_windowed_collectives()) {
    return fail(ErrorKind::refused,
                format_text("plugin %s v%d has no %s in the network", collnet.name(),
                            collnet.version(), name_of(collective)));
  }
  if (collective == Collective::allgather) return {};
  int supported = 0;
  const ncclResult_t result = collnet.reduce_support(type, op, &supported);
  if (result != ncclSuccess) return fail(error_of(result, "reduceSupport"));
  if (supported != 0) return {};
  return fail(ErrorKind::refused, std::string("plugin ") + collnet.name() + " does not reduce " +
                                      info_of(type).name + " by " + info_of(op).name);
}

size_t InNetwork::most_elements(size_t element_bytes) const {
  const size_t bytes = link_.communicator().collnet_properties().max_collective_bytes;
  const size_t count = std::max<size_t>(bytes / element_bytes, 1);
  constexpr size_t kInt = std::numeric_limits<int>::max();
  return link_.communicator().collnet()->version() <= 8 ? std::min(count, kInt) : count;
}

Status InNetwork::start(const CollectiveCall& call, size_t first, size_t count, void** request) {
  ncclResult_t result = ncclSuccess;
  if (call.collective == Collective::allreduce) {
    const size_t element = info_of(call.type).bytes;
    auto* input = const_cast<std::byte*>(call.input) + first * element;
    result = communicator().collnet()->iallreduce(
        link_.comm(), input, call.output + first * element, count, element, call.type, call.op,
        input_region_->region(), output_region_->region(), request);
  } else {
    result = start_window(call, first, count, request);
  }
  if (result != ncclSuccess) return fail(error_of(result, name_of(call.collective)));
  return {};
}

ncclResult_t InNetwork::start_window(const CollectiveCall& call, size_t first, size_t count,
                                     void** request) {
  CollNetApi& collnet = *communicator().collnet();
  const Bootstrap& bootstrap = communicator().bootstrap();
  const size_t element = info_of(call.type).bytes;
  const size_t block = call.block(bootstrap.size());
  const Window window{block * element, first * element, count * element};
  // What of the own block lies in the window.
  const size_t own = static_cast<size_t>(bootstrap.rank()) * block;
  const size_t begin = std::clamp(first, own, own + block);
  const size_t end = std::clamp(first + count, own, own + block);
  const size_t place = (begin - own) * element;
  auto* input = const_cast<std::byte*>(call.input);
  if (call.collective == Collective::allgather) {
    return collnet.iallgather(link_.comm(), begin < end ? input + place : input,
                              call.output + window.offset, window, input_region_->region(),
                              output_region_->region(), (end - begin) * element, request);
  }
  return collnet.ireducescatter(
      link_.comm(), input + window.offset, begin < end ? call.output + place : call.output, window,
      call.type, call.op, input_region_->region(), output_region_->region(), request);
}

// The calls of some operations, in order: each operation goes in pieces of at most the plugin's
// limit.
class InNetwork::Flight {
 public:
  Flight(InNetwork& owner, std::span<const CollectiveCall> operations)
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
    const CollectiveCall& call = operations_[operation_];
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
    if (result != ncclSuccess) return fail(error_of(result, "test of a collective"));
    if (done != 0) ++completed_;
    return {};
  }

  void skip_finished() {
    while (operation_ < operations_.size() && started_ == operations_[operation_].count) {
      ++operation_;
      started_ = 0;
    }
  }

  InNetwork& owner_;
  std::span<const CollectiveCall> operations_;
  size_t operation_ = 0;
  size_t started_ = 0;  // elements of that operation
  size_t posted_ = 0, completed_ = 0;
  void* requests_[kMostCalls] = {};
};

Status InNetwork::run_all(std::span<const CollectiveCall> operations) {
  Patience& patience = communicator().patience();
  Flight flight(*this, operations);
  while (!flight.landed()) {
    const Result<bool> moved = flight.advance();
    if (!moved) return fail(moved.error());
    if (*moved) {
      patience.progress();
    } else {
      SLUICE_RETURN_IF_ERROR(patience.idle("in the network"));
    }
  }
  return {};
}

}  // namespace sluice::perf
