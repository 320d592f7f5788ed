// SPDX-License-Identifier: Apache-2.0
// One interface over the net tables v6..v12, so that one suite drives them all. An adaptor written
// for the tests alone: it shares nothing with the plugin but the declarations of the layouts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "plugin/abi/versions.h"
#include "tests/plugin/plugin_library.h"

namespace sluice::test {

class NetTable {
 public:
  // Null when the library lacks the version.
  static std::unique_ptr<NetTable> load(const PluginLibrary& library, int version);
  virtual ~NetTable() = default;

  bool has_finalize() const { return version() >= 11; }
  bool has_int_sizes() const { return version() <= 8; }

  virtual int version() const = 0;
  virtual ncclResult_t init(void** context, uint64_t communicator, int traffic_class = -1) = 0;
  virtual ncclResult_t finalize(void* context) = 0;  // success where the table has none
  virtual ncclResult_t devices(int* count) = 0;
  // What all versions have in common; newer members keep the defaults given here.
  virtual ncclResult_t properties(int device, abi::NetPropertiesV12* properties) = 0;
  virtual ncclResult_t listen(void* context, int device, void* handle, void** listen_comm) = 0;
  virtual ncclResult_t connect(void* context, int device, void* handle, void** send_comm) = 0;
  virtual ncclResult_t accept(void* listen_comm, void** receive_comm) = 0;
  virtual ncclResult_t register_memory(void* comm, void* data, int64_t size, int type,
                                       void** handle) = 0;
  virtual ncclResult_t register_dma_buf(void* comm, void* data, size_t size, void** handle) = 0;
  virtual ncclResult_t deregister_memory(void* comm, void* handle) = 0;
  virtual ncclResult_t send(void* comm, void* data, int64_t size, int tag, void* handle,
                            void** request) = 0;
  virtual ncclResult_t receive(void* comm, int count, void** data, const int64_t* sizes, int* tags,
                               void** handles, void** request) = 0;
  virtual ncclResult_t flush(void* comm, int count, void** data, int* sizes, void** handles,
                             void** request) = 0;
  virtual ncclResult_t test(void* request, int* done, int* sizes) = 0;
  virtual ncclResult_t close_send(void* comm) = 0;
  virtual ncclResult_t close_receive(void* comm) = 0;
  virtual ncclResult_t close_listen(void* comm) = 0;
};

}  // namespace sluice::test
