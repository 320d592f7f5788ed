// SPDX-License-Identifier: Apache-2.0
#include "sharp/libsharp/call.h"

#include <algorithm>
#include <limits>

#include "sharp/libsharp/region.h"

namespace sluice::sharp::libsharp {
namespace {

sharp_coll_data_desc descriptor(const Operand& operand) {
  const auto* region = static_cast<const Region*>(operand.region);
  const bool device = region != nullptr && region->type() == transport::MemoryType::cuda;
  sharp_coll_data_desc descriptor{};
  descriptor.type = SHARP_DATA_BUFFER;
  descriptor.mem_type = device ? SHARP_MEM_TYPE_CUDA : SHARP_MEM_TYPE_HOST;
  descriptor.buffer.ptr = operand.address;
  descriptor.buffer.length = operand.length;
  descriptor.buffer.mem_handle = region != nullptr ? region->handle() : nullptr;
  return descriptor;
}

Status check_memory(const char* what, const void* data, size_t size,
                    const transport::MemoryRegion* region) {
  if (size == 0) return {};
  if (data == nullptr) {
    return fail(ErrorKind::invalid_argument, format_text("%s of %zu bytes at null", what, size));
  }
  if (region != nullptr && !region->contains(data, size)) {
    return fail(ErrorKind::invalid_argument,
                format_text("%s: %zu bytes at %p are not in the registered %zu bytes at %p", what,
                            size, data, region->size(), static_cast<void*>(region->address())));
  }
  return {};
}

Status check_reduction(DataType type, ReduceOperator reduce_operator,
                       const Capabilities& capabilities) {
  if (capabilities.supports(type, reduce_operator)) return {};
  return fail(ErrorKind::invalid_argument,
              format_text("SHARP does not reduce %s by %s on these switches", name_of(type),
                          name_of(reduce_operator)));
}

Status check_size(const char* what, size_t bytes) {
  if (bytes <= kMaxOperationBytes) return {};
  return fail(ErrorKind::invalid_argument,
              format_text("%s of %zu bytes: SHARP takes at most %zu at once", what, bytes,
                          kMaxOperationBytes));
}

// The window lies in the ranks' blocks, and the parts are exactly the window.
Status check_window(const char* what, size_t bytes_per_rank, int ranks, size_t offset, size_t bytes,
                    std::span<const Part> parts) {
  const auto count = static_cast<size_t>(ranks);
  if (bytes_per_rank > std::numeric_limits<size_t>::max() / count ||
      offset > bytes_per_rank * count || bytes > bytes_per_rank * count - offset) {
    return fail(ErrorKind::invalid_argument,
                format_text("%s: a window of %zu bytes at %zu is not in %d blocks of %zu", what,
                            bytes, offset, ranks, bytes_per_rank));
  }
  size_t left = bytes;
  for (const Part& part : parts) {
    if (part.size > left) left = std::numeric_limits<size_t>::max();
    if (left == std::numeric_limits<size_t>::max()) break;
    left -= part.size;
    SLUICE_RETURN_IF_ERROR(check_memory(what, part.address, part.size, part.region));
  }
  if (left != 0) {
    return fail(
        ErrorKind::invalid_argument,
        format_text("%s: the parts are not as long as the window of %zu bytes", what, bytes));
  }
  return check_size(what, bytes);
}

}  // namespace

size_t bytes_in_window(int rank, size_t bytes_per_rank, size_t window_offset, size_t window_bytes) {
  const size_t block = static_cast<size_t>(rank) * bytes_per_rank;
  const size_t first = std::max(block, window_offset);
  const size_t end = std::min(block + bytes_per_rank, window_offset + window_bytes);
  return end > first ? end - first : 0;
}

Status check(const AllreduceArguments& arguments, const Capabilities& capabilities) {
  SLUICE_RETURN_IF_ERROR(check_reduction(arguments.type, arguments.reduce_operator, capabilities));
  const size_t element = size_of(arguments.type);
  if (arguments.count > kMaxOperationBytes / element) {
    return fail(ErrorKind::invalid_argument,
                format_text("allreduce of %zu %s: SHARP takes at most %zu bytes at once",
                            arguments.count, name_of(arguments.type), kMaxOperationBytes));
  }
  const size_t bytes = arguments.count * element;
  SLUICE_RETURN_IF_ERROR(check_memory("allreduce", arguments.send, bytes, arguments.send_region));
  return check_memory("allreduce", arguments.receive, bytes, arguments.receive_region);
}

Status check(const AllgatherArguments& arguments, const Capabilities& capabilities, int rank,
             int ranks) {
  if (!capabilities.allgather) {
    return fail(ErrorKind::invalid_usage,
                "SHARP's allgather is off (NCCL_SHARP_DISABLE_ALLGATHER, or an old libsharp_coll)");
  }
  SLUICE_RETURN_IF_ERROR(check_window("allgather", arguments.bytes_per_rank, ranks,
                                      arguments.window_offset, arguments.window_bytes,
                                      arguments.receive));
  const size_t own = bytes_in_window(rank, arguments.bytes_per_rank, arguments.window_offset,
                                     arguments.window_bytes);
  return check_memory("allgather", arguments.send, own, arguments.send_region);
}

Status check(const ReduceScatterArguments& arguments, const Capabilities& capabilities, int rank,
             int ranks) {
  if (!capabilities.reduce_scatter) {
    return fail(ErrorKind::invalid_usage,
                "SHARP's reduce-scatter is off (NCCL_SHARP_DISABLE_REDUCE_SCATTER, or an old "
                "libsharp_coll)");
  }
  SLUICE_RETURN_IF_ERROR(check_reduction(arguments.type, arguments.reduce_operator, capabilities));
  SLUICE_RETURN_IF_ERROR(check_window("reduce-scatter", arguments.bytes_per_rank, ranks,
                                      arguments.window_offset, arguments.window_bytes,
                                      arguments.send));
  const size_t element = size_of(arguments.type);
  if (arguments.bytes_per_rank % element != 0 || arguments.window_offset % element != 0 ||
      arguments.window_bytes % element != 0) {
    return fail(ErrorKind::invalid_argument, "reduce-scatter of a window that cuts an element");
  }
  const size_t own = bytes_in_window(rank, arguments.bytes_per_rank, arguments.window_offset,
                                     arguments.window_bytes);
  return check_memory("reduce-scatter", arguments.receive, own, arguments.receive_region);
}

sharp_coll_reduce_spec spec_of(const AllreduceArguments& arguments) {
  const size_t bytes = arguments.count * size_of(arguments.type);
  sharp_coll_reduce_spec spec{};
  spec.sbuf_desc = descriptor({const_cast<void*>(arguments.send), bytes, arguments.send_region});
  spec.rbuf_desc = descriptor({arguments.receive, bytes, arguments.receive_region});
  spec.length = arguments.count;
  spec.dtype = *sharp_type_of(arguments.type);
  spec.op = *sharp_operator_of(arguments.reduce_operator);
  spec.aggr_mode = SHARP_AGGREGATION_NONE;
  return spec;
}

sharp_coll_gather_spec spec_of(const AllgatherArguments& arguments, const Operand& gathered) {
  sharp_coll_gather_spec spec{};
  spec.sbuf_desc = descriptor(
      {const_cast<void*>(arguments.send), arguments.bytes_per_rank, arguments.send_region});
  spec.rbuf_desc = descriptor(gathered);
  spec.dtype = SHARP_DTYPE_INT8;
  spec.size = arguments.window_bytes;
  spec.offset = arguments.window_offset;
  return spec;
}

sharp_coll_reduce_spec spec_of(const ReduceScatterArguments& arguments, const Operand& window) {
  sharp_coll_reduce_spec spec{};
  spec.sbuf_desc = descriptor(window);
  spec.rbuf_desc =
      descriptor({arguments.receive, arguments.bytes_per_rank, arguments.receive_region});
  spec.length = arguments.window_bytes / size_of(arguments.type);
  spec.offset = arguments.window_offset;
  spec.dtype = *sharp_type_of(arguments.type);
  spec.op = *sharp_operator_of(arguments.reduce_operator);
  spec.aggr_mode = SHARP_AGGREGATION_NONE;
  return spec;
}

}  // namespace sluice::sharp::libsharp
