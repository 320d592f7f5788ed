// SPDX-License-Identifier: Apache-2.0
// NCCL's net plugin tables, API v6 to v12, declared by us from the public facts. Layouts are
// checked against tests/data/abi-layout.txt. One struct per distinct layout; Abi<V>
// (plugin/abi/versions.h) maps versions to them.
#pragma once

#include "plugin/abi/nccl_types.h"

namespace sluice::abi {

struct NetPropertiesV6 {
  char* name;
  char* pciPath;
  uint64_t guid;
  int ptrSupport;
  int speed;  // Mbit/s
  int port;
  float latency;  // us
  int maxComms;
  int maxRecvs;
};

struct NetPropertiesV7 {
  char* name;
  char* pciPath;
  uint64_t guid;
  int ptrSupport;
  int speed;
  int port;
  float latency;
  int maxComms;
  int maxRecvs;
  int netDeviceType;
  int netDeviceVersion;
};

struct NetPropertiesV8 {
  char* name;
  char* pciPath;
  uint64_t guid;
  int ptrSupport;
  int regIsGlobal;
  int speed;
  int port;
  float latency;
  int maxComms;
  int maxRecvs;
  int netDeviceType;
  int netDeviceVersion;
};

template <int MaxDevices>
struct VirtualDeviceProperties {
  int ndevs;
  int devs[MaxDevices];
};
using VirtualDevicePropertiesV9 = VirtualDeviceProperties<4>;
using VirtualDevicePropertiesV12 = VirtualDeviceProperties<8>;

struct NetPropertiesV9 {  // and v10
  char* name;
  char* pciPath;
  uint64_t guid;
  int ptrSupport;
  int regIsGlobal;
  int forceFlush;
  int speed;
  int port;
  float latency;
  int maxComms;
  int maxRecvs;
  int netDeviceType;
  int netDeviceVersion;
  VirtualDevicePropertiesV9 vProps;
  size_t maxP2pBytes;
  size_t maxCollBytes;
};

struct NetPropertiesV11 {
  char* name;
  char* pciPath;
  uint64_t guid;
  int ptrSupport;
  int regIsGlobal;
  int forceFlush;
  int speed;
  int port;
  float latency;
  int maxComms;
  int maxRecvs;
  int netDeviceType;
  int netDeviceVersion;
  VirtualDevicePropertiesV9 vProps;
  size_t maxP2pBytes;
  size_t maxCollBytes;
  int maxMultiRequestSize;
};

struct NetPropertiesV12 {
  char* name;
  char* pciPath;
  uint64_t guid;
  int ptrSupport;
  int regIsGlobal;
  int forceFlush;
  int speed;
  int port;
  float latency;
  int maxComms;
  int maxRecvs;
  int netDeviceType;
  int netDeviceVersion;
  VirtualDevicePropertiesV12 vProps;
  size_t maxP2pBytes;
  size_t maxCollBytes;
  int maxMultiRequestSize;
  int16_t railId;   // -1: undefined
  int16_t planeId;  // -1: undefined
};

struct NetCommConfig {  // v10 and later
  int trafficClass;     // -1: undefined
};

struct NetCommAttributes {
  int32_t maxConcurrentPeers;
  int32_t minConcurrentPeers;
  int32_t maxFlowsPerPeer;
  int32_t minFlowsPerPeer;
};

struct NetAttributes {  // v11 and later
  NetCommAttributes sendCommAttr;
  NetCommAttributes recvCommAttr;
  uint32_t op;
  uint32_t algo;
  uint32_t proto;
};

// Members that no version ever changed, in groups as the tables order them.
// Size is the type of isend/irecv/iallreduce sizes: int up to v8, size_t from v9.
using CloseFunction = ncclResult_t (*)(void* comm);
using TestFunction = ncclResult_t (*)(void* request, int* done, int* sizes);
using FlushFunction = ncclResult_t (*)(void* recvComm, int n, void** data, int* sizes,
                                       void** mhandles, void** request);
using DmaBufFunction = ncclResult_t (*)(void* comm, void* data, size_t size, int type,
                                        uint64_t offset, int fd, void** mhandle);
using DeregisterFunction = ncclResult_t (*)(void* comm, void* mhandle);
using GetDeviceMrFunction = ncclResult_t (*)(void* comm, void* mhandle, void** dptr_mhandle);
using ConsumedFunction = ncclResult_t (*)(void* recvComm, int n, void* request);

struct NetV6 {
  using Properties = NetPropertiesV6;
  const char* name;
  ncclResult_t (*init)(ncclDebugLogger_t logFunction);
  ncclResult_t (*devices)(int* ndev);
  ncclResult_t (*getProperties)(int dev, Properties* props);
  ncclResult_t (*listen)(int dev, void* handle, void** listenComm);
  ncclResult_t (*connect)(int dev, void* handle, void** sendComm);
  ncclResult_t (*accept)(void* listenComm, void** recvComm);
  ncclResult_t (*regMr)(void* comm, void* data, int size, int type, void** mhandle);
  DmaBufFunction regMrDmaBuf;
  DeregisterFunction deregMr;
  ncclResult_t (*isend)(void* sendComm, void* data, int size, int tag, void* mhandle,
                        void** request);
  ncclResult_t (*irecv)(void* recvComm, int n, void** data, int* sizes, int* tags, void** mhandles,
                        void** request);
  FlushFunction iflush;
  TestFunction test;
  CloseFunction closeSend;
  CloseFunction closeRecv;
  CloseFunction closeListen;
};

// v7 and v8 differ in their properties and in the type of regMr's size.
template <typename PropertiesType, typename RegisterSize>
struct NetV7Or8 {
  using Properties = PropertiesType;
  const char* name;
  ncclResult_t (*init)(ncclDebugLogger_t logFunction);
  ncclResult_t (*devices)(int* ndev);
  ncclResult_t (*getProperties)(int dev, Properties* props);
  ncclResult_t (*listen)(int dev, void* handle, void** listenComm);
  ncclResult_t (*connect)(int dev, void* handle, void** sendComm,
                          ncclNetDeviceHandle_t** sendDevComm);
  ncclResult_t (*accept)(void* listenComm, void** recvComm, ncclNetDeviceHandle_t** recvDevComm);
  ncclResult_t (*regMr)(void* comm, void* data, RegisterSize size, int type, void** mhandle);
  DmaBufFunction regMrDmaBuf;
  DeregisterFunction deregMr;
  ncclResult_t (*isend)(void* sendComm, void* data, int size, int tag, void* mhandle,
                        void** request);
  ncclResult_t (*irecv)(void* recvComm, int n, void** data, int* sizes, int* tags, void** mhandles,
                        void** request);
  FlushFunction iflush;
  TestFunction test;
  CloseFunction closeSend;
  CloseFunction closeRecv;
  CloseFunction closeListen;
  GetDeviceMrFunction getDeviceMr;
  ConsumedFunction irecvConsumed;
};
using NetV7 = NetV7Or8<NetPropertiesV7, int>;
using NetV8 = NetV7Or8<NetPropertiesV8, size_t>;

struct NetV9 {
  using Properties = NetPropertiesV9;
  using VirtualDevice = VirtualDevicePropertiesV9;
  const char* name;
  ncclResult_t (*init)(ncclDebugLogger_t logFunction);
  ncclResult_t (*devices)(int* ndev);
  ncclResult_t (*getProperties)(int dev, Properties* props);
  ncclResult_t (*listen)(int dev, void* handle, void** listenComm);
  ncclResult_t (*connect)(int dev, void* handle, void** sendComm,
                          ncclNetDeviceHandle_t** sendDevComm);
  ncclResult_t (*accept)(void* listenComm, void** recvComm, ncclNetDeviceHandle_t** recvDevComm);
  ncclResult_t (*regMr)(void* comm, void* data, size_t size, int type, void** mhandle);
  DmaBufFunction regMrDmaBuf;
  DeregisterFunction deregMr;
  ncclResult_t (*isend)(void* sendComm, void* data, size_t size, int tag, void* mhandle,
                        void** request);
  ncclResult_t (*irecv)(void* recvComm, int n, void** data, size_t* sizes, int* tags,
                        void** mhandles, void** request);
  FlushFunction iflush;
  TestFunction test;
  CloseFunction closeSend;
  CloseFunction closeRecv;
  CloseFunction closeListen;
  GetDeviceMrFunction getDeviceMr;
  ConsumedFunction irecvConsumed;
  ncclResult_t (*makeVDevice)(int* d, VirtualDevice* props);
};

struct NetV10 {
  using Properties = NetPropertiesV9;
  using VirtualDevice = VirtualDevicePropertiesV9;
  const char* name;
  ncclResult_t (*init)(ncclDebugLogger_t logFunction, ncclProfilerCallback_t profFunction);
  ncclResult_t (*devices)(int* ndev);
  ncclResult_t (*getProperties)(int dev, Properties* props);
  ncclResult_t (*listen)(int dev, void* handle, void** listenComm);
  ncclResult_t (*connect)(int dev, NetCommConfig* config, void* handle, void** sendComm,
                          ncclNetDeviceHandle_t** sendDevComm);
  ncclResult_t (*accept)(void* listenComm, void** recvComm, ncclNetDeviceHandle_t** recvDevComm);
  ncclResult_t (*regMr)(void* comm, void* data, size_t size, int type, void** mhandle);
  DmaBufFunction regMrDmaBuf;
  DeregisterFunction deregMr;
  ncclResult_t (*isend)(void* sendComm, void* data, size_t size, int tag, void* mhandle,
                        void* phandle, void** request);
  ncclResult_t (*irecv)(void* recvComm, int n, void** data, size_t* sizes, int* tags,
                        void** mhandles, void** phandles, void** request);
  FlushFunction iflush;
  TestFunction test;
  CloseFunction closeSend;
  CloseFunction closeRecv;
  CloseFunction closeListen;
  GetDeviceMrFunction getDeviceMr;
  ConsumedFunction irecvConsumed;
  ncclResult_t (*makeVDevice)(int* d, VirtualDevice* props);
};

// v11 and v12 differ in their properties only.
template <typename PropertiesType, typename VirtualDeviceType>
struct NetV11Or12 {
  using Properties = PropertiesType;
  using VirtualDevice = VirtualDeviceType;
  const char* name;
  ncclResult_t (*init)(void** ctx, uint64_t commId, NetCommConfig* config,
                       ncclDebugLogger_t logFunction, ncclProfilerCallback_t profFunction);
  ncclResult_t (*devices)(int* ndev);
  ncclResult_t (*getProperties)(int dev, Properties* props);
  ncclResult_t (*listen)(void* ctx, int dev, void* handle, void** listenComm);
  ncclResult_t (*connect)(void* ctx, int dev, void* handle, void** sendComm,
                          ncclNetDeviceHandle_t** sendDevComm);
  ncclResult_t (*accept)(void* listenComm, void** recvComm, ncclNetDeviceHandle_t** recvDevComm);
  ncclResult_t (*regMr)(void* comm, void* data, size_t size, int type, void** mhandle);
  DmaBufFunction regMrDmaBuf;
  DeregisterFunction deregMr;
  ncclResult_t (*isend)(void* sendComm, void* data, size_t size, int tag, void* mhandle,
                        void* phandle, void** request);
  ncclResult_t (*irecv)(void* recvComm, int n, void** data, size_t* sizes, int* tags,
                        void** mhandles, void** phandles, void** request);
  FlushFunction iflush;
  TestFunction test;
  CloseFunction closeSend;
  CloseFunction closeRecv;
  CloseFunction closeListen;
  GetDeviceMrFunction getDeviceMr;
  ConsumedFunction irecvConsumed;
  ncclResult_t (*makeVDevice)(int* d, VirtualDevice* props);
  ncclResult_t (*finalize)(void* ctx);
  ncclResult_t (*setNetAttr)(void* ctx, NetAttributes* netAttr);
};
using NetV11 = NetV11Or12<NetPropertiesV11, VirtualDevicePropertiesV9>;
using NetV12 = NetV11Or12<NetPropertiesV12, VirtualDevicePropertiesV12>;

}  // namespace sluice::abi
