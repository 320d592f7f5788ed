// SPDX-License-Identifier: Apache-2.0
#include "plugin/collnet/collnet_comm.h"

#include <limits>
#include <utility>

namespace sluice::plugin::collnet {
namespace {

// NCCL has at most 8 steps x 8 groups of operations under way; other hosts may want more.
constexpr size_t kRequests = 256;

}  // namespace

CollectiveComm::CollectiveComm(std::shared_ptr<CommunicatorContext> context,
                               std::unique_ptr<sharp::Client> client)
    : Comm(Kind::collective, std::move(context), "in-network reduction"),
      requests_(kRequests),
      client_(std::move(client)) {}

Result<sharp::AllreduceArguments> CollectiveComm::check(const AllreduceCall& call) {
  const auto type = static_cast<sharp::DataType>(call.data_type);
  const auto reduce_operator = static_cast<sharp::ReduceOperator>(call.reduce_operator);
  if (call.data_type < 0 || call.data_type >= sharp::kDataTypes || call.reduce_operator < 0 ||
      call.reduce_operator >= sharp::kReduceOperators ||
      !sharp::Client::supports(type, reduce_operator)) {
    return refuse(format_text("allreduce of data type %d with operator %d is not supported",
                              call.data_type, call.reduce_operator));
  }
  const size_t element = sharp::size_of(type);
  if (call.count > std::numeric_limits<size_t>::max() / element) {
    return refuse(format_text("allreduce of %zu elements is too large", call.count));
  }
  const size_t bytes = call.count * element;
  const auto send_region = region_of(call.send_handle, call.send, bytes);
  if (!send_region) return fail(send_region.error());
  const auto receive_region = region_of(call.receive_handle, call.receive, bytes);
  if (!receive_region) return fail(receive_region.error());
  return sharp::AllreduceArguments{call.send,       call.receive, call.count,     type,
                                   reduce_operator, *send_region, *receive_region};
}

Result<CollectiveRequest*> CollectiveComm::allreduce(const AllreduceCall& call) {
  const std::lock_guard lock(driver_);
  SLUICE_RETURN_IF_ERROR(check_alive());
  const auto arguments = check(call);
  if (!arguments) return fail(arguments.error());
  CollectiveRequest* request = requests_.take();
  if (request == nullptr) return nullptr;
  auto posted = client_->allreduce(*arguments);
  if (!posted || *posted == nullptr) {
    requests_.give_back(request);
    if (!posted) return fail_for_good(std::move(posted).error());
    return nullptr;
  }
  request->comm = this;
  request->inner = *posted;
  request->memory = {static_cast<MemoryHandle*>(call.send_handle),
                     static_cast<MemoryHandle*>(call.receive_handle)};
  claim(request->memory);
  return request;
}

Result<bool> CollectiveComm::test(CollectiveRequest& request, size_t* bytes) {
  const std::lock_guard lock(driver_);
  if (!request.in_use) return refuse("test of a request that is done already");
  SLUICE_RETURN_IF_ERROR(check_alive());
  auto done = client_->test(*request.inner, bytes);
  if (!done) return fail_for_good(std::move(done).error());
  if (*done) {
    release(request.memory);
    requests_.give_back(&request);
  }
  return done;
}

Result<std::unique_ptr<transport::MemoryRegion>> CollectiveComm::register_region(void* data,
                                                                                 size_t size) {
  if (client_ == nullptr) return fail(ErrorKind::invalid_usage, "the connection was cut off");
  return client_->register_memory(data, size, transport::MemoryType::host);
}

}  // namespace sluice::plugin::collnet
