// SPDX-License-Identifier: Apache-2.0
// One interface over the CollNet tables v6..v12; see net_table.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "plugin/abi/versions.h"
#include "tests/plugin/plugin_library.h"

namespace sluice::test {

// A part of a gathered receive or a scattered send.
struct TablePart {
  void* handle = nullptr;
  void* address = nullptr;
  size_t size = 0;
};

// As NCCL's arguments: bytes.
struct TableWindow {
  size_t bytes_per_rank = 0;
  size_t offset = 0;
  size_t bytes = 0;
};

class CollNetTable {
 public:
  static std::unique_ptr<CollNetTable> load(const PluginLibrary& library, int version);
  virtual ~CollNetTable() = default;

  virtual int version() const = 0;
  virtual ncclResult_t init(void** context, uint64_t communicator) = 0;
  virtual ncclResult_t finalize(void* context) = 0;  // success where the table has none
  virtual ncclResult_t devices(int* count) = 0;
  // The raw bytes of this version's properties, as the net table of the same version gives them.
  virtual bool has_properties_of_net(const PluginLibrary& library) = 0;
  virtual ncclResult_t listen(void* context, int device, void* handle, void** listen_comm) = 0;
  virtual ncclResult_t connect(void* handles[], int ranks, int rank, void* listen_comm,
                               void** coll_comm) = 0;
  virtual ncclResult_t reduce_support(ncclDataType_t type, ncclRedOp_t op, int* supported) = 0;
  virtual ncclResult_t register_memory(void* comm, void* data, size_t size, int type,
                                       void** handle) = 0;
  virtual ncclResult_t deregister_memory(void* comm, void* handle) = 0;
  virtual ncclResult_t allreduce(void* comm, void* send, void* receive, size_t count,
                                 ncclDataType_t type, ncclRedOp_t op, void* send_handle,
                                 void* receive_handle, void** request) = 0;
  // v8 and later; parts that the version's sizes cannot hold are not for these.
  virtual bool has_windowed_collectives() const = 0;
  virtual ncclResult_t allgather(void* comm, void* send, const std::vector<TablePart>& receive,
                                 const TableWindow& window, void* send_handle, void** request) = 0;
  virtual ncclResult_t reduce_scatter(void* comm, const std::vector<TablePart>& send, void* receive,
                                      const TableWindow& window, ncclDataType_t type,
                                      ncclRedOp_t op, void* receive_handle, void** request) = 0;
  virtual ncclResult_t flush(void* comm, void* data, int size, void* handle, void** request) = 0;
  virtual ncclResult_t test(void* request, int* done, int* size) = 0;
  virtual ncclResult_t close_coll(void* comm) = 0;
  virtual ncclResult_t close_listen(void* comm) = 0;
};

}  // namespace sluice::test
