// SPDX-License-Identifier: Apache-2.0
// NCCL's CollNet plugin tables, API v6 to v12, declared by us from the public facts. Layouts are
// checked against tests/data/abi-layout.txt.
#pragma once

#include "plugin/abi/nccl_net.h"

namespace sluice::abi {

template <typename SizeType>
struct NetSgeOf {  // one part of a gathered receive or scattered send
  void* mhandle;
  void* address;
  SizeType size;
};
using NetSgeV8 = NetSgeOf<uint32_t>;
using NetSgeV9 = NetSgeOf<size_t>;

using ReduceSupportFunction = ncclResult_t (*)(ncclDataType_t dataType, ncclRedOp_t redOp,
                                               int* supported);
using CollConnectFunction = ncclResult_t (*)(void* handles[], int nranks, int rank,
                                             void* listenComm, void** collComm);
using CollFlushFunction = ncclResult_t (*)(void* collComm, void* data, int size, void* mhandle,
                                           void** request);

// v6 and v7 differ in their properties only.
template <typename PropertiesType>
struct CollNetV6Or7 {
  using Properties = PropertiesType;
  const char* name;
  ncclResult_t (*init)(ncclDebugLogger_t logFunction);
  ncclResult_t (*devices)(int* ndev);
  ncclResult_t (*getProperties)(int dev, Properties* props);
  ncclResult_t (*listen)(int dev, void* handle, void** listenComm);
  CollConnectFunction connect;
  ReduceSupportFunction reduceSupport;
  ncclResult_t (*regMr)(void* collComm, void* data, int size, int type, void** mhandle);
  DmaBufFunction regMrDmaBuf;
  DeregisterFunction deregMr;
  ncclResult_t (*iallreduce)(void* collComm, void* sendData, void* recvData, int count,
                             ncclDataType_t dataType, ncclRedOp_t redOp, void* sendMhandle,
                             void* recvMhandle, void** request);
  CollFlushFunction iflush;
  TestFunction test;
  CloseFunction closeColl;
  CloseFunction closeListen;
};
using CollNetV6 = CollNetV6Or7<NetPropertiesV6>;
using CollNetV7 = CollNetV6Or7<NetPropertiesV7>;

template <typename Sge>
using AllGatherFunction = ncclResult_t (*)(void* collComm, void* sendData, int nRecvParts,
                                           Sge* recvParts, size_t bytesPerRank, size_t windowOffset,
                                           size_t windowBytes, void* sendMhandle, void** request);
template <typename Sge>
using ReduceScatterFunction = ncclResult_t (*)(void* collComm, int nSendParts, Sge* sendParts,
                                               void* recvData, size_t bytesPerRank,
                                               size_t windowOffset, size_t windowBytes,
                                               ncclDataType_t dataType, ncclRedOp_t redOp,
                                               void* recvMhandle, void** request);

struct CollNetV8 {
  using Properties = NetPropertiesV8;
  const char* name;
  ncclResult_t (*init)(ncclDebugLogger_t logFunction);
  ncclResult_t (*devices)(int* ndev);
  ncclResult_t (*getProperties)(int dev, Properties* props);
  ncclResult_t (*listen)(int dev, void* handle, void** listenComm);
  CollConnectFunction connect;
  ReduceSupportFunction reduceSupport;
  ncclResult_t (*regMr)(void* collComm, void* data, size_t size, int type, void** mhandle);
  DmaBufFunction regMrDmaBuf;
  DeregisterFunction deregMr;
  ncclResult_t (*iallreduce)(void* collComm, void* sendData, void* recvData, int count,
                             ncclDataType_t dataType, ncclRedOp_t redOp, void* sendMhandle,
                             void* recvMhandle, void** request);
  AllGatherFunction<NetSgeV8> iallgather;
  ReduceScatterFunction<NetSgeV8> ireducescatter;
  CollFlushFunction iflush;
  TestFunction test;
  CloseFunction closeColl;
  CloseFunction closeListen;
};

struct CollNetV9 {  // and v10
  using Properties = NetPropertiesV9;
  using VirtualDevice = VirtualDevicePropertiesV9;
  const char* name;
  ncclResult_t (*init)(ncclDebugLogger_t logFunction);
  ncclResult_t (*devices)(int* ndev);
  ncclResult_t (*getProperties)(int dev, Properties* props);
  ncclResult_t (*listen)(int dev, void* handle, void** listenComm);
  CollConnectFunction connect;
  ReduceSupportFunction reduceSupport;
  ncclResult_t (*regMr)(void* collComm, void* data, size_t size, int type, void** mhandle);
  DmaBufFunction regMrDmaBuf;
  DeregisterFunction deregMr;
  ncclResult_t (*iallreduce)(void* collComm, void* sendData, void* recvData, size_t count,
                             ncclDataType_t dataType, ncclRedOp_t redOp, void* sendMhandle,
                             void* recvMhandle, void** request);
  AllGatherFunction<NetSgeV9> iallgather;
  ReduceScatterFunction<NetSgeV9> ireducescatter;
  CollFlushFunction iflush;
  TestFunction test;
  CloseFunction closeColl;
  CloseFunction closeListen;
  ncclResult_t (*makeVDevice)(int* d, VirtualDevice* props);
};

// v11 and v12 differ in their properties only.
template <typename PropertiesType, typename VirtualDeviceType>
struct CollNetV11Or12 {
  using Properties = PropertiesType;
  using VirtualDevice = VirtualDeviceType;
  const char* name;
  ncclResult_t (*init)(void** ctx, uint64_t commId, ncclDebugLogger_t logFunction);
  ncclResult_t (*devices)(int* ndev);
  ncclResult_t (*getProperties)(int dev, Properties* props);
  ncclResult_t (*listen)(void* ctx, int dev, void* handle, void** listenComm);
  CollConnectFunction connect;
  ReduceSupportFunction reduceSupport;
  ncclResult_t (*regMr)(void* collComm, void* data, size_t size, int type, void** mhandle);
  DmaBufFunction regMrDmaBuf;
  DeregisterFunction deregMr;
  ncclResult_t (*iallreduce)(void* collComm, void* sendData, void* recvData, size_t count,
                             ncclDataType_t dataType, ncclRedOp_t redOp, void* sendMhandle,
                             void* recvMhandle, void** request);
  AllGatherFunction<NetSgeV9> iallgather;
  ReduceScatterFunction<NetSgeV9> ireducescatter;
  CollFlushFunction iflush;
  TestFunction test;
  CloseFunction closeColl;
  CloseFunction closeListen;
  ncclResult_t (*makeVDevice)(int* d, VirtualDevice* props);
  ncclResult_t (*finalize)(void* ctx);
};
using CollNetV11 = CollNetV11Or12<NetPropertiesV11, VirtualDevicePropertiesV9>;
using CollNetV12 = CollNetV11Or12<NetPropertiesV12, VirtualDevicePropertiesV12>;

}  // namespace sluice::abi
