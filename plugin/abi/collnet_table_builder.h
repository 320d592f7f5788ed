// SPDX-License-Identifier: Apache-2.0
// Builds NCCL's CollNet tables of every API version from one internal interface
// (plugin/collnet/collnet_plugin.h); rules as in table_builder.h.
#pragma once

#include <vector>

#include "plugin/abi/table_builder.h"

namespace sluice::plugin::abi_tables {

inline ncclResult_t collective_connect(void* handles[], int ranks, int rank, void* listen_comm,
                                       void** coll_comm) {
  return edge::enter([&]() -> Status {
    if (coll_comm == nullptr) return library::reject("connect without a place for collComm");
    *coll_comm = nullptr;
    if (handles == nullptr || ranks < 1) return library::reject("connect without handles");
    return edge::store(collnet::connect({handles, static_cast<size_t>(ranks)}, rank, listen_comm),
                       coll_comm);
  });
}

inline ncclResult_t reduce_support(ncclDataType_t data_type, ncclRedOp_t reduce_operator,
                                   int* supported) {
  return edge::enter([&]() -> Status {
    if (supported == nullptr) return library::reject("reduceSupport without a place for it");
    *supported = collnet::supports(data_type, reduce_operator) ? 1 : 0;
    return {};
  });
}

template <typename Size>
ncclResult_t allreduce(void* comm, collnet::AllreduceCall call, Size count, void** request) {
  return edge::enter([&]() -> Status {
    if (request == nullptr) return library::reject("iallreduce without a place for the request");
    *request = nullptr;
    if (edge::is_negative(count)) return library::reject("iallreduce of a negative count");
    call.count = static_cast<size_t>(count);
    return edge::store(collnet::allreduce(comm_of(comm), call), request);
  });
}

// NCCL gives one part; more than a few make no sense.
inline constexpr int kMostParts = 1024;

template <typename Sge>
Result<std::vector<collnet::CallPart>> gather_parts(const char* call, int count, const Sge* parts) {
  if (count < 0 || count > kMostParts || (count > 0 && parts == nullptr)) {
    return library::reject(format_text("%s with %d parts, up to %d are possible", call, count,
                                       parts == nullptr ? 0 : kMostParts));
  }
  std::vector<collnet::CallPart> gathered;
  gathered.reserve(static_cast<size_t>(count));
  for (const Sge& part : std::span(parts, static_cast<size_t>(count))) {
    gathered.push_back({part.mhandle, part.address, static_cast<size_t>(part.size)});
  }
  return gathered;
}

template <typename Sge>
ncclResult_t allgather(void* comm, collnet::AllgatherCall call, int count, const Sge* parts,
                       void** request) {
  return edge::enter([&]() -> Status {
    if (request == nullptr) return library::reject("iallgather without a place for the request");
    *request = nullptr;
    const auto receive = gather_parts("iallgather", count, parts);
    if (!receive) return fail(receive.error());
    call.receive = *receive;
    return edge::store(collnet::allgather(comm_of(comm), call), request);
  });
}

template <typename Sge>
ncclResult_t reduce_scatter(void* comm, collnet::ReduceScatterCall call, int count,
                            const Sge* parts, void** request) {
  return edge::enter([&]() -> Status {
    if (request == nullptr) {
      return library::reject("ireducescatter without a place for the request");
    }
    *request = nullptr;
    const auto send = gather_parts("ireducescatter", count, parts);
    if (!send) return fail(send.error());
    call.send = *send;
    return edge::store(collnet::reduce_scatter(comm_of(comm), call), request);
  });
}

inline ncclResult_t collective_flush(void*, void*, int, void*, void** request) {
  if (request != nullptr) *request = nullptr;
  return ncclSuccess;
}

inline ncclResult_t collective_test(void* request, int* done, int* size) {
  return edge::enter([&]() -> Status {
    if (done == nullptr) return library::reject("test without a place for done");
    *done = 0;
    size_t bytes = 0;
    const auto finished = collnet::test(static_cast<collnet::CollectiveRequest*>(request), &bytes);
    if (!finished) return fail(finished.error());
    if (!*finished) return {};
    *done = 1;
    if (size != nullptr) *size = edge::clamp_size(bytes);
    return {};
  });
}

// From v8 on.
template <typename Table>
constexpr void fill_windowed_collectives(Table& table) {
  table.iallgather = [](void* comm, void* send_data, int part_count, auto* parts,
                        size_t bytes_per_rank, size_t window_offset, size_t window_bytes,
                        void* send_handle, void** request) {
    return allgather(comm,
                     {send_data, {}, {bytes_per_rank, window_offset, window_bytes}, send_handle},
                     part_count, parts, request);
  };
  table.ireducescatter = [](void* comm, int part_count, auto* parts, void* receive_data,
                            size_t bytes_per_rank, size_t window_offset, size_t window_bytes,
                            ncclDataType_t data_type, ncclRedOp_t reduce_operator,
                            void* receive_handle, void** request) {
    return reduce_scatter(comm,
                          {{},
                           receive_data,
                           {bytes_per_rank, window_offset, window_bytes},
                           static_cast<int>(data_type),
                           static_cast<int>(reduce_operator),
                           receive_handle},
                          part_count, parts, request);
  };
}

template <int Version>
constexpr typename abi::Abi<Version>::CollNet make_collnet_table() {
  typename abi::Abi<Version>::CollNet table{};
  fill_common<Role::collnet, Version>(table);
  if constexpr (per_communicator(Version)) {
    table.init = [](void** context, uint64_t communicator, ncclDebugLogger_t log) {
      return init(collnet::init, {Role::collnet, Version, true, communicator, -1, log}, context);
    };
  } else {
    table.init = [](ncclDebugLogger_t log) {
      return init(collnet::init, {Role::collnet, Version, false, 0, -1, log}, nullptr);
    };
  }
  table.connect = collective_connect;
  table.reduceSupport = reduce_support;
  table.iallreduce = [](void* comm, void* send_data, void* receive_data, auto count,
                        ncclDataType_t data_type, ncclRedOp_t reduce_operator, void* send_handle,
                        void* receive_handle, void** request) {
    return allreduce(comm,
                     {send_data, receive_data, 0, static_cast<int>(data_type),
                      static_cast<int>(reduce_operator), send_handle, receive_handle},
                     count, request);
  };
  if constexpr (Version >= 8) fill_windowed_collectives(table);
  table.iflush = collective_flush;
  table.test = collective_test;
  table.closeColl = close_comm;
  return table;
}

}  // namespace sluice::plugin::abi_tables
