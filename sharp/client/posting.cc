// SPDX-License-Identifier: Apache-2.0
#include "sharp/client/posting.h"

#include <algorithm>
#include <cstring>

#include "sharp/wire/geometry.h"

namespace sluice::sharp {
namespace {

tl::unexpected<Error> wrong(const char* what, const std::string& how) {
  return fail(ErrorKind::invalid_argument, std::string(what) + ": " + how);
}

Status check_reduction(const char* what, DataType type, ReduceOperator reduce_operator) {
  if (Client::supports(type, reduce_operator)) return {};
  return wrong(what,
               format_text("%s of %s is not supported", name_of(reduce_operator), name_of(type)));
}

Status check_buffer(const char* what, const char* which, const void* data, size_t bytes,
                    const transport::MemoryRegion* region) {
  if (bytes > 0 && data == nullptr) {
    return wrong(what, format_text("the %s buffer is null", which));
  }
  if (region != nullptr && !region->contains(data, bytes)) {
    return wrong(what, format_text("the %s buffer of %zu bytes is not inside its registered memory",
                                   which, bytes));
  }
  return {};
}

Status check_window(const char* what, const BlockWindow& window, uint64_t ranks) {
  const bool fits = window.block <= SIZE_MAX / ranks && window.offset <= window.block * ranks &&
                    window.bytes <= window.block * ranks - window.offset;
  if (fits) return {};
  return wrong(what, format_text("no window of %llu bytes at %llu in %llu blocks of %llu",
                                 static_cast<unsigned long long>(window.bytes),
                                 static_cast<unsigned long long>(window.offset),
                                 static_cast<unsigned long long>(ranks),
                                 static_cast<unsigned long long>(window.block)));
}

Status check_parts(const char* what, const char* which, std::span<const Part> parts,
                   uint64_t bytes) {
  uint64_t left = bytes;
  for (const Part& part : parts) {
    SLUICE_RETURN_IF_ERROR(check_buffer(what, which, part.address, part.size, part.region));
    if (part.size > left) return wrong(what, "the parts are longer than the window");
    left -= part.size;
  }
  if (left > 0) return wrong(what, "the parts are shorter than the window");
  return {};
}

// Every rank comes to the same answer: it depends on what all of them call alike.
bool is_small(const BlockWindow& window, uint32_t latency_bytes) {
  return window.bytes <= latency_bytes || window.block < kSmallestPiece;
}

void choose_class(Operation& operation, const BlockWindow& window, const GroupShape& shape) {
  const bool latency =
      operation.collective == Collective::allreduce &&
      window.bytes <=
          latency_limit(shape, operation.type, operation.reduce_operator, operation.collective);
  operation.traffic_class = latency ? TrafficClass::latency : TrafficClass::streaming;
  operation.window_bytes = window.bytes;
  const uint32_t limit =
      latency ? shape.latency_bytes
              : chunk_limit(shape, operation.type, operation.reduce_operator, operation.collective);
  operation.cutting = Cutting(window, std::max<uint32_t>(limit, 1));
}

void reset(Operation& operation) {
  const auto client = operation.client;
  const auto index = operation.index;
  auto scratch = std::move(operation.scratch);  // its memory is used again
  scratch.clear();
  operation = Operation();
  operation.client = client;
  operation.index = index;
  operation.scratch = std::move(scratch);
}

void set_input(Operation& operation, const void* data, uint64_t at,
               const transport::MemoryRegion* region) {
  operation.input = static_cast<const std::byte*>(data);
  operation.input_at = at;
  operation.input_region = region;
}

void set_output(Operation& operation, void* data, const WindowRange& range,
                const transport::MemoryRegion* region) {
  operation.output = static_cast<std::byte*>(data);
  operation.output_range = range;
  operation.output_region = region;
}

void set_both_to_scratch(Operation& operation, uint64_t bytes) {
  set_input(operation, operation.scratch.data(), 0, nullptr);
  set_output(operation, operation.scratch.data(), {0, bytes}, nullptr);
}

void copy_in(std::span<const Part> parts, std::vector<std::byte>& scratch) {
  for (const Part& part : parts) {
    scratch.insert(scratch.end(), part.address, part.address + part.size);
  }
}

}  // namespace

Status prepare(Operation& operation, const AllreduceArguments& arguments, const GroupShape& shape,
               uint16_t) {
  constexpr const char* kWhat = "allreduce";
  SLUICE_RETURN_IF_ERROR(check_reduction(kWhat, arguments.type, arguments.reduce_operator));
  if (arguments.count > SIZE_MAX / size_of(arguments.type)) {
    return wrong(kWhat, format_text("%zu elements do not fit any memory", arguments.count));
  }
  const size_t bytes = arguments.count * size_of(arguments.type);
  SLUICE_RETURN_IF_ERROR(check_buffer(kWhat, "send", arguments.send, bytes, arguments.send_region));
  SLUICE_RETURN_IF_ERROR(
      check_buffer(kWhat, "receive", arguments.receive, bytes, arguments.receive_region));
  reset(operation);
  operation.type = arguments.type;
  operation.reduce_operator = arguments.reduce_operator;
  operation.result_bytes = bytes;
  set_input(operation, arguments.send, 0, arguments.send_region);
  set_output(operation, arguments.receive, {0, bytes}, arguments.receive_region);
  choose_class(operation, {bytes, 0, bytes}, shape);
  return {};
}

Status prepare(Operation& operation, const AllgatherArguments& arguments, const GroupShape& shape,
               uint16_t rank) {
  constexpr const char* kWhat = "allgather";
  const BlockWindow window{arguments.bytes_per_rank, arguments.window_offset,
                           arguments.window_bytes};
  SLUICE_RETURN_IF_ERROR(check_window(kWhat, window, shape.members));
  const WindowRange own = share_of(window, rank);
  SLUICE_RETURN_IF_ERROR(
      check_buffer(kWhat, "send", arguments.send, own.bytes, arguments.send_region));
  SLUICE_RETURN_IF_ERROR(check_parts(kWhat, "receive", arguments.receive, window.bytes));
  reset(operation);
  operation.type = DataType::uint8;
  operation.result_bytes = window.bytes;
  if (window.bytes == 0) return {};
  const bool one_part = arguments.receive.size() == 1;
  if (is_small(window, shape.latency_bytes)) {
    // The sum of vectors of which each has one block, and zeros elsewhere.
    operation.scratch.assign(window.bytes, std::byte{0});
    if (own.bytes > 0) {
      std::memcpy(operation.scratch.data() + own.offset, arguments.send, own.bytes);
    }
    set_both_to_scratch(operation, window.bytes);
    operation.deliver_to.assign(arguments.receive.begin(), arguments.receive.end());
    choose_class(operation, {window.bytes, 0, window.bytes}, shape);
    return {};
  }
  operation.collective = Collective::gather;
  set_input(operation, arguments.send, own.offset, arguments.send_region);
  if (one_part) {
    const Part& part = arguments.receive.front();
    set_output(operation, part.address, {0, window.bytes}, part.region);
  } else {
    operation.scratch.resize(window.bytes);
    set_output(operation, operation.scratch.data(), {0, window.bytes}, nullptr);
    operation.deliver_to.assign(arguments.receive.begin(), arguments.receive.end());
  }
  choose_class(operation, window, shape);
  return {};
}

Status prepare(Operation& operation, const ReduceScatterArguments& arguments,
               const GroupShape& shape, uint16_t rank) {
  constexpr const char* kWhat = "reduce-scatter";
  SLUICE_RETURN_IF_ERROR(check_reduction(kWhat, arguments.type, arguments.reduce_operator));
  const BlockWindow window{arguments.bytes_per_rank, arguments.window_offset,
                           arguments.window_bytes};
  SLUICE_RETURN_IF_ERROR(check_window(kWhat, window, shape.members));
  const size_t element = size_of(arguments.type);
  if (window.block % element != 0 || window.offset % element != 0 || window.bytes % element != 0) {
    return wrong(kWhat, format_text("the window cuts an element of %s", name_of(arguments.type)));
  }
  const WindowRange own = share_of(window, rank);
  SLUICE_RETURN_IF_ERROR(check_parts(kWhat, "send", arguments.send, window.bytes));
  SLUICE_RETURN_IF_ERROR(
      check_buffer(kWhat, "receive", arguments.receive, own.bytes, arguments.receive_region));
  reset(operation);
  operation.type = arguments.type;
  operation.reduce_operator = arguments.reduce_operator;
  operation.result_bytes = own.bytes;
  if (window.bytes == 0) return {};
  const uint32_t latency =
      latency_limit(shape, arguments.type, arguments.reduce_operator, Collective::allreduce);
  if (is_small(window, latency)) {
    copy_in(arguments.send, operation.scratch);
    set_both_to_scratch(operation, window.bytes);
    operation.deliver_at = own.offset;
    operation.deliver_to.assign(1, Part{static_cast<std::byte*>(arguments.receive), own.bytes});
    choose_class(operation, {window.bytes, 0, window.bytes}, shape);
    return {};
  }
  operation.collective = Collective::scatter;
  if (arguments.send.size() == 1) {
    set_input(operation, arguments.send.front().address, 0, arguments.send.front().region);
  } else {
    copy_in(arguments.send, operation.scratch);
    set_input(operation, operation.scratch.data(), 0, nullptr);
  }
  set_output(operation, arguments.receive, own, arguments.receive_region);
  choose_class(operation, window, shape);
  return {};
}

void deliver(Operation& operation) {
  const std::byte* from = operation.scratch.data() + operation.deliver_at;
  for (const Part& part : operation.deliver_to) {
    if (part.size > 0) std::memcpy(part.address, from, part.size);
    from += part.size;
  }
}

}  // namespace sluice::sharp
