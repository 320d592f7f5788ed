// SPDX-License-Identifier: Apache-2.0
// The test plugin's tables, every version from 6 to 12 (or one, TEST_PLUGIN_ONLY) by one template:
// each table member picks the overload below that has its type.
#include <cstdio>
#include <cstdlib>

#include "plugin/abi/versions.h"
#include "tests/perf/rig/rig.h"

namespace sluice::test {
namespace {

char device_name[] = "rig0";
char pci_path[] = "/sys/devices/rig0";
int context;  // v11 and later must get this one back

bool is_ours(const void* ctx) {
  return ctx == &context;
}

// ---- shared by net and CollNet ----

ncclResult_t init(ncclDebugLogger_t log) {
  log(NCCL_LOG_INFO, 0x10, __FILE__, __LINE__, "test plugin ready");
  return std::getenv("TEST_PLUGIN_INIT_FAILS") != nullptr ? ncclSystemError : ncclSuccess;
}
ncclResult_t init(ncclDebugLogger_t log, ncclProfilerCallback_t) {
  return init(log);
}
ncclResult_t init(void** ctx, uint64_t, abi::NetCommConfig* config, ncclDebugLogger_t log,
                  ncclProfilerCallback_t) {
  *ctx = &context;
  return config == nullptr ? ncclInvalidArgument : init(log);
}
ncclResult_t init(void** ctx, uint64_t, ncclDebugLogger_t log) {
  *ctx = &context;
  return init(log);
}
ncclResult_t devices(int* count) {
  *count = device_count();
  return ncclSuccess;
}
template <typename Properties>
ncclResult_t get_properties(int, Properties* properties) {
  *properties = Properties{};
  properties->name = device_name;
  properties->pciPath = pci_path;
  properties->ptrSupport = abi::kPointerHost;
  properties->speed = 10000;
  properties->maxComms = 1 << 16;
  properties->maxRecvs = 1;
  if constexpr (requires { properties->maxP2pBytes; }) properties->maxP2pBytes = size_t{1} << 30;
  if constexpr (requires { properties->maxCollBytes; }) properties->maxCollBytes = size_t{1} << 22;
  return ncclSuccess;
}
ncclResult_t listen(int, void* handle, void** comm) {
  *comm = RigListener::open(static_cast<RigHandle*>(handle));
  return *comm != nullptr ? ncclSuccess : ncclSystemError;
}
ncclResult_t listen(void* ctx, int device, void* handle, void** comm) {
  return is_ours(ctx) ? listen(device, handle, comm) : ncclInvalidArgument;
}
template <typename Size>
ncclResult_t register_memory(void*, void* data, Size, int type, void** region) {
  *region = data;
  return type == abi::kPointerHost ? ncclSuccess : ncclInvalidArgument;
}
ncclResult_t deregister_memory(void*, void*) {
  return ncclSuccess;
}
ncclResult_t test_request(void* request, int* done, int* sizes) {
  while (hangs()) {
  }
  auto* ours = static_cast<RigRequest*>(request);
  const ncclResult_t result = ours->test(done, sizes);
  if (*done != 0) delete ours;
  return result;
}
ncclResult_t close_listen(void* comm) {
  delete static_cast<RigListener*>(comm);
  return ncclSuccess;
}
ncclResult_t finalize(void* ctx) {
  return is_ours(ctx) ? ncclSuccess : ncclInvalidArgument;
}

// ---- net ----

ncclResult_t connect(int, void* handle, void** comm) {
  const int fd = rig_connect(*static_cast<RigHandle*>(handle));
  *comm = fd >= 0 ? new RigComm(fd) : nullptr;
  return fd >= 0 ? ncclSuccess : ncclRemoteError;
}
ncclResult_t connect(int device, void* handle, void** comm, ncclNetDeviceHandle_t**) {
  return connect(device, handle, comm);
}
ncclResult_t connect(int device, abi::NetCommConfig*, void* handle, void** comm,
                     ncclNetDeviceHandle_t**) {
  return connect(device, handle, comm);
}
ncclResult_t connect(void* ctx, int device, void* handle, void** comm, ncclNetDeviceHandle_t**) {
  return is_ours(ctx) ? connect(device, handle, comm) : ncclInvalidArgument;
}
ncclResult_t accept(void* listener, void** comm) {
  const int fd = static_cast<RigListener*>(listener)->accept();
  *comm = fd >= 0 ? new RigComm(fd) : nullptr;
  return ncclSuccess;
}
ncclResult_t accept(void* listener, void** comm, ncclNetDeviceHandle_t**) {
  return accept(listener, comm);
}
ncclResult_t isend(void* comm, void* data, size_t size, int, void*, void** request) {
  *request = static_cast<RigComm*>(comm)->send(data, size);
  return ncclSuccess;
}
ncclResult_t isend(void* comm, void* data, int size, int tag, void* region, void** request) {
  return isend(comm, data, static_cast<size_t>(size), tag, region, request);
}
ncclResult_t isend(void* comm, void* data, size_t size, int tag, void* region, void*,
                   void** request) {
  return isend(comm, data, size, tag, region, request);
}
template <typename Size>
ncclResult_t irecv(void* comm, int n, void** data, Size* sizes, int*, void**, void** request) {
  *request = nullptr;
  if (n != 1) return ncclInvalidArgument;
  *request = static_cast<RigComm*>(comm)->receive(data[0], static_cast<size_t>(sizes[0]));
  return ncclSuccess;
}
ncclResult_t irecv(void* comm, int n, void** data, size_t* sizes, int* tags, void** regions, void**,
                   void** request) {
  return irecv(comm, n, data, sizes, tags, regions, request);
}
ncclResult_t close_comm(void* comm) {
  delete static_cast<RigComm*>(comm);
  return ncclSuccess;
}

// ---- CollNet ----

ncclResult_t connect_group(void* handles[], int ranks, int rank, void* listener, void** comm) {
  *comm = RigGroup::connect(handles, ranks, rank, static_cast<RigListener*>(listener));
  return *comm != nullptr ? ncclSuccess : ncclRemoteError;
}
ncclResult_t reduce_support(ncclDataType_t type, ncclRedOp_t op, int* supported) {
  *supported = type <= ncclFloat8e5m2 && op <= ncclMin ? 1 : 0;
  return ncclSuccess;
}
template <typename Count>
ncclResult_t iallreduce(void* comm, void* send, void* receive, Count count, ncclDataType_t type,
                        ncclRedOp_t op, void*, void*, void** request) {
  *request =
      static_cast<RigGroup*>(comm)->allreduce(send, receive, static_cast<size_t>(count), type, op);
  return ncclSuccess;
}
template <typename Sge>
ncclResult_t iallgather(void* comm, void* send, int parts, Sge* receive, size_t bytes_per_rank,
                        size_t offset, size_t bytes, void*, void** request) {
  *request = nullptr;
  if (parts != 1 || receive->size != bytes) return ncclInvalidArgument;
  *request = static_cast<RigGroup*>(comm)->allgather(send, receive->address, bytes_per_rank, offset,
                                                     bytes);
  return ncclSuccess;
}
template <typename Sge>
ncclResult_t ireducescatter(void* comm, int parts, Sge* send, void* receive, size_t bytes_per_rank,
                            size_t offset, size_t bytes, ncclDataType_t type, ncclRedOp_t op, void*,
                            void** request) {
  *request = nullptr;
  if (parts != 1 || send->size != bytes) return ncclInvalidArgument;
  *request = static_cast<RigGroup*>(comm)->reduce_scatter(send->address, receive, bytes_per_rank,
                                                          offset, bytes, type, op);
  return ncclSuccess;
}
ncclResult_t close_group(void* comm) {
  delete static_cast<RigGroup*>(comm);
  return ncclSuccess;
}

template <typename Table>
constexpr void set_shared(Table& table) {
  table.name = "TESTRIG";
  table.init = init;
  table.devices = devices;
  table.getProperties = get_properties;
  table.listen = listen;
  table.regMr = register_memory;
  table.deregMr = deregister_memory;
  table.test = test_request;
  table.closeListen = close_listen;
  if constexpr (requires { table.finalize; }) table.finalize = finalize;
}

template <int V>
constexpr auto net_table() {
  typename abi::Abi<V>::Net table{};
  set_shared(table);
  table.connect = connect;
  table.accept = accept;
  table.isend = isend;
  table.irecv = irecv;
  table.closeSend = close_comm;
  table.closeRecv = close_comm;
  return table;
}

template <int V>
constexpr auto collnet_table() {
  typename abi::Abi<V>::CollNet table{};
  set_shared(table);
  table.connect = connect_group;
  table.reduceSupport = reduce_support;
  table.iallreduce = iallreduce;
  if constexpr (V >= 8) {
    table.iallgather = iallgather;
    table.ireducescatter = ireducescatter;
  }
  table.closeColl = close_group;
  return table;
}

}  // namespace
}  // namespace sluice::test

#define TEST_PLUGIN_EXPORT(V)                                                                    \
  extern "C" [[gnu::visibility("default")]] const sluice::abi::Abi<V>::Net ncclNetPlugin_v##V =  \
      sluice::test::net_table<V>();                                                              \
  extern "C"                                                                                     \
      [[gnu::visibility("default")]] const sluice::abi::Abi<V>::CollNet ncclCollNetPlugin_v##V = \
          sluice::test::collnet_table<V>();

TEST_PLUGIN_EXPORT(8)
#ifndef TEST_PLUGIN_ONLY_V8
TEST_PLUGIN_EXPORT(6)
TEST_PLUGIN_EXPORT(7)
TEST_PLUGIN_EXPORT(9)
TEST_PLUGIN_EXPORT(10)
TEST_PLUGIN_EXPORT(11)
TEST_PLUGIN_EXPORT(12)
#endif
