// SPDX-License-Identifier: Apache-2.0
#include "plugin/collnet/collnet_comm.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace sluice::plugin::collnet {
namespace {

// NCCL has at most 8 steps x 8 groups of operations under way; other hosts may want more.
constexpr size_t kRequests = 256;

constexpr size_t kMostBytes = std::numeric_limits<size_t>::max();

}  // namespace

CollectiveComm::CollectiveComm(std::shared_ptr<CommunicatorContext> context,
                               std::unique_ptr<sharp::Client> client, int rank, int ranks)
    : Comm(Kind::collective, std::move(context), "in-network reduction"),
      rank_(static_cast<size_t>(rank)),
      ranks_(static_cast<size_t>(ranks)),
      requests_(kRequests),
      client_(std::move(client)) {}

Status CollectiveComm::check_reduction(const char* what, int data_type, int reduce_operator) {
  if (data_type >= 0 && data_type < sharp::kDataTypes && reduce_operator >= 0 &&
      reduce_operator < sharp::kReduceOperators &&
      sharp::Client::supports(static_cast<sharp::DataType>(data_type),
                              static_cast<sharp::ReduceOperator>(reduce_operator))) {
    return {};
  }
  return refuse(format_text("%s of data type %d with operator %d is not supported", what, data_type,
                            reduce_operator));
}

Status CollectiveComm::check_window(const char* what, const CallWindow& window) {
  if (window.bytes_per_rank > kMostBytes / ranks_) {
    return refuse(format_text("%s with %zu bytes for each of %zu ranks is too large", what,
                              window.bytes_per_rank, ranks_));
  }
  const size_t whole = window.bytes_per_rank * ranks_;
  if (window.offset <= whole && window.bytes <= whole - window.offset) return {};
  return refuse(
      format_text("%s of %zu bytes at %zu, but %zu ranks with %zu bytes each have only %zu", what,
                  window.bytes, window.offset, ranks_, window.bytes_per_rank, whole));
}

Status CollectiveComm::check_parts(const char* what, std::span<const CallPart> parts,
                                   const CallWindow& window) {
  parts_.clear();
  size_t left = window.bytes;
  for (const CallPart& part : parts) {
    if (part.size > left) break;
    const auto region = region_of(part.handle, part.address, part.size);
    if (!region) return fail(region.error());
    left -= part.size;
    parts_.push_back({static_cast<std::byte*>(part.address), part.size, *region});
  }
  if (left == 0 && parts_.size() == parts.size()) return {};
  return refuse(format_text("%s: the %zu parts are not together the window of %zu bytes", what,
                            parts.size(), window.bytes));
}

size_t CollectiveComm::own_bytes(const CallWindow& window) const {
  const size_t block = rank_ * window.bytes_per_rank;
  const size_t begin = std::max(block, window.offset);
  const size_t end = std::min(block + window.bytes_per_rank, window.offset + window.bytes);
  return begin < end ? end - begin : 0;
}

Result<sharp::AllreduceArguments> CollectiveComm::check(const AllreduceCall& call) {
  SLUICE_RETURN_IF_ERROR(check_reduction("allreduce", call.data_type, call.reduce_operator));
  const auto type = static_cast<sharp::DataType>(call.data_type);
  const size_t element = sharp::size_of(type);
  if (call.count > kMostBytes / element) {
    return refuse(format_text("allreduce of %zu elements is too large", call.count));
  }
  const size_t bytes = call.count * element;
  const auto send_region = region_of(call.send_handle, call.send, bytes);
  if (!send_region) return fail(send_region.error());
  const auto receive_region = region_of(call.receive_handle, call.receive, bytes);
  if (!receive_region) return fail(receive_region.error());
  return sharp::AllreduceArguments{call.send,
                                   call.receive,
                                   call.count,
                                   type,
                                   static_cast<sharp::ReduceOperator>(call.reduce_operator),
                                   *send_region,
                                   *receive_region};
}

Result<sharp::AllgatherArguments> CollectiveComm::check(const AllgatherCall& call) {
  SLUICE_RETURN_IF_ERROR(check_window("allgather", call.window));
  SLUICE_RETURN_IF_ERROR(check_parts("allgather", call.receive, call.window));
  const auto send_region = region_of(call.send_handle, call.send, own_bytes(call.window));
  if (!send_region) return fail(send_region.error());
  return sharp::AllgatherArguments{
      call.send,   call.window.bytes_per_rank, call.window.offset, call.window.bytes, parts_,
      *send_region};
}

Result<sharp::ReduceScatterArguments> CollectiveComm::check(const ReduceScatterCall& call) {
  SLUICE_RETURN_IF_ERROR(check_reduction("reduce-scatter", call.data_type, call.reduce_operator));
  SLUICE_RETURN_IF_ERROR(check_window("reduce-scatter", call.window));
  SLUICE_RETURN_IF_ERROR(check_parts("reduce-scatter", call.send, call.window));
  const auto type = static_cast<sharp::DataType>(call.data_type);
  const size_t element = sharp::size_of(type);
  const bool whole = call.window.bytes_per_rank % element == 0 &&
                     call.window.offset % element == 0 && call.window.bytes % element == 0 &&
                     std::all_of(parts_.begin(), parts_.end(),
                                 [&](const sharp::Part& part) { return part.size % element == 0; });
  if (!whole) {
    return refuse(format_text("reduce-scatter: the window or a part of it cuts an element of %s",
                              sharp::name_of(type)));
  }
  const auto receive_region = region_of(call.receive_handle, call.receive, own_bytes(call.window));
  if (!receive_region) return fail(receive_region.error());
  return sharp::ReduceScatterArguments{parts_,
                                       call.receive,
                                       call.window.bytes_per_rank,
                                       call.window.offset,
                                       call.window.bytes,
                                       type,
                                       static_cast<sharp::ReduceOperator>(call.reduce_operator),
                                       *receive_region};
}

template <typename Arguments>
Result<CollectiveRequest*> CollectiveComm::post(
    const Arguments& arguments, Result<sharp::Operation*> (sharp::Client::*how)(const Arguments&),
    void* handle, std::span<const CallPart> parts) {
  CollectiveRequest* request = requests_.take();
  if (request == nullptr) return nullptr;
  auto posted = (client_.get()->*how)(arguments);
  if (!posted || *posted == nullptr) {
    requests_.give_back(request);
    if (!posted) return fail_for_good(std::move(posted).error());
    return nullptr;
  }
  request->comm = this;
  request->inner = *posted;
  request->memory.assign(1, static_cast<MemoryHandle*>(handle));
  for (const CallPart& part : parts) {
    request->memory.push_back(static_cast<MemoryHandle*>(part.handle));
  }
  claim(request->memory);
  return request;
}

Result<CollectiveRequest*> CollectiveComm::allreduce(const AllreduceCall& call) {
  const std::lock_guard lock(driver_);
  SLUICE_RETURN_IF_ERROR(check_alive());
  const auto arguments = check(call);
  if (!arguments) return fail(arguments.error());
  const CallPart receive{call.receive_handle, call.receive, 0};
  return post(*arguments, &sharp::Client::allreduce, call.send_handle, {&receive, 1});
}

Result<CollectiveRequest*> CollectiveComm::allgather(const AllgatherCall& call) {
  const std::lock_guard lock(driver_);
  SLUICE_RETURN_IF_ERROR(check_alive());
  const auto arguments = check(call);
  if (!arguments) return fail(arguments.error());
  return post(*arguments, &sharp::Client::allgather, call.send_handle, call.receive);
}

Result<CollectiveRequest*> CollectiveComm::reduce_scatter(const ReduceScatterCall& call) {
  const std::lock_guard lock(driver_);
  SLUICE_RETURN_IF_ERROR(check_alive());
  const auto arguments = check(call);
  if (!arguments) return fail(arguments.error());
  return post(*arguments, &sharp::Client::reduce_scatter, call.receive_handle, call.send);
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
