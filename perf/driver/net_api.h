// SPDX-License-Identifier: Apache-2.0
// NetApi and CollNetApi: one uniform face over a plugin's tables of every version from 6 to 12.
//
// Calls map one to one on the plugin's; versions differ only behind the virtual functions, which
// come from one template each (net_api.cc, collnet_api.cc). Results are NCCL's. The public
// functions also count bytes handed to the plugin and give the fault plan its chance. Ownership: a
// table belongs to its PluginLibrary, which must outlive the face. Thread rule: as NCCL's:
// init/devices/properties/finalize on the user's thread, listen, connect, accept, register,
// deregister, close on the service thread, isend, irecv, test and the collectives on the progress
// thread.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "perf/driver/fault.h"
#include "perf/driver/plugin_library.h"
#include "plugin/abi/nccl_types.h"

namespace sluice::perf {

using Handle = std::array<unsigned char, abi::kHandleBytes>;

struct DeviceProperties {
  std::string name;
  std::string pci_path;
  int pointer_support = 0;
  int speed = 0;  // Mbit/s
  int max_receives = 1;
  bool registration_is_global = false;
  size_t max_p2p_bytes = size_t{1} << 30;         // what NCCL assumes for v8 and older
  size_t max_collective_bytes = size_t{1} << 29;  // likewise
};

// What both tables share.
class PluginApi {
 public:
  virtual ~PluginApi() = default;

  virtual int version() const = 0;
  virtual const char* name() const = 0;
  virtual ncclResult_t init(uint64_t communicator_id) = 0;
  virtual ncclResult_t devices(int* count) = 0;
  virtual ncclResult_t properties(int device, DeviceProperties* properties) = 0;
  virtual ncclResult_t finalize() = 0;  // nothing before v11
  virtual ncclResult_t register_memory(void* comm, void* data, size_t size, void** region) = 0;
  virtual ncclResult_t deregister_memory(void* comm, void* region) = 0;
  virtual ncclResult_t close_listen(void* listen_comm) = 0;

  ncclResult_t listen(int device, Handle* handle, void** listen_comm) {
    fault_.hit(Stage::listen);
    return do_listen(device, handle, listen_comm);
  }
  ncclResult_t test(void* request, int* done, int* sizes) {
    fault_.hit(Stage::test);
    return do_test(request, done, sizes);
  }

  void set_fault(const FaultPlan& plan) { fault_ = plan; }
  // Bytes of this rank handed to accepted isend and collective calls so far.
  uint64_t bytes_handed() const { return bytes_handed_.load(std::memory_order_relaxed); }

 protected:
  void count(ncclResult_t result, const void* request, size_t bytes) {
    if (result == ncclSuccess && request != nullptr) {
      bytes_handed_.fetch_add(bytes, std::memory_order_relaxed);
    }
  }
  FaultPlan fault_;

 private:
  virtual ncclResult_t do_listen(int device, Handle* handle, void** listen_comm) = 0;
  virtual ncclResult_t do_test(void* request, int* done, int* sizes) = 0;

  std::atomic<uint64_t> bytes_handed_{0};
};

class NetApi : public PluginApi {
 public:
  static std::unique_ptr<NetApi> over(const PluginTable& table);

  ncclResult_t connect(int device, Handle* handle, void** send_comm) {
    fault_.hit(Stage::connect);
    return do_connect(device, handle, send_comm);
  }
  ncclResult_t accept(void* listen_comm, void** receive_comm) {
    fault_.hit(Stage::accept);
    return do_accept(listen_comm, receive_comm);
  }
  ncclResult_t isend(void* comm, void* data, size_t size, int tag, void* region, void** request) {
    fault_.hit(Stage::isend);
    const ncclResult_t result = do_isend(comm, data, size, tag, region, request);
    count(result, *request, size);
    return result;
  }
  // *request may be pre-loaded with the hint 0x1 from v9 on; the shims of NCCL clear it before.
  virtual ncclResult_t irecv(void* comm, int count, void** data, size_t* sizes, int* tags,
                             void** regions, void** request) = 0;
  virtual ncclResult_t close_send(void* comm) = 0;
  virtual ncclResult_t close_receive(void* comm) = 0;

 private:
  virtual ncclResult_t do_connect(int device, Handle* handle, void** send_comm) = 0;
  virtual ncclResult_t do_accept(void* listen_comm, void** receive_comm) = 0;
  virtual ncclResult_t do_isend(void* comm, void* data, size_t size, int tag, void* region,
                                void** request) = 0;
};

// A window of the vector of all ranks' blocks, bytes; as NCCL means it (plugin/collnet/calls.h).
struct Window {
  size_t bytes_per_rank = 0;
  size_t offset = 0;
  size_t bytes = 0;
};

class CollNetApi : public PluginApi {
 public:
  static std::unique_ptr<CollNetApi> over(const PluginTable& table);

  ncclResult_t connect(void** handles, int ranks, int rank, void* listen_comm, void** comm) {
    fault_.hit(Stage::connect);
    return do_connect(handles, ranks, rank, listen_comm, comm);
  }
  ncclResult_t iallreduce(void* comm, void* send, void* receive, size_t count, size_t element_bytes,
                          ncclDataType_t type, ncclRedOp_t op, void* send_region,
                          void* receive_region, void** request) {
    fault_.hit(Stage::iallreduce);
    const ncclResult_t result =
        do_iallreduce(comm, send, receive, count, type, op, send_region, receive_region, request);
    PluginApi::count(result, *request, count * element_bytes);
    return result;
  }
  // v8 and later. The window is one part, as in NCCL.
  virtual bool has_windowed_collectives() const = 0;
  ncclResult_t iallgather(void* comm, void* send, void* receive, const Window& window,
                          void* send_region, void* receive_region, size_t own_bytes,
                          void** request) {
    fault_.hit(Stage::iallreduce);
    const ncclResult_t result =
        do_iallgather(comm, send, receive, window, send_region, receive_region, request);
    PluginApi::count(result, *request, own_bytes);
    return result;
  }
  ncclResult_t ireducescatter(void* comm, void* send, void* receive, const Window& window,
                              ncclDataType_t type, ncclRedOp_t op, void* send_region,
                              void* receive_region, void** request) {
    fault_.hit(Stage::iallreduce);
    const ncclResult_t result = do_ireducescatter(comm, send, receive, window, type, op,
                                                  send_region, receive_region, request);
    PluginApi::count(result, *request, window.bytes);
    return result;
  }
  virtual ncclResult_t reduce_support(ncclDataType_t type, ncclRedOp_t op, int* supported) = 0;
  virtual ncclResult_t close(void* comm) = 0;

 private:
  virtual ncclResult_t do_connect(void** handles, int ranks, int rank, void* listen_comm,
                                  void** comm) = 0;
  virtual ncclResult_t do_iallreduce(void* comm, void* send, void* receive, size_t count,
                                     ncclDataType_t type, ncclRedOp_t op, void* send_region,
                                     void* receive_region, void** request) = 0;
  virtual ncclResult_t do_iallgather(void* comm, void* send, void* receive, const Window& window,
                                     void* send_region, void* receive_region, void** request) = 0;
  virtual ncclResult_t do_ireducescatter(void* comm, void* send, void* receive,
                                         const Window& window, ncclDataType_t type, ncclRedOp_t op,
                                         void* send_region, void* receive_region,
                                         void** request) = 0;
};

}  // namespace sluice::perf
