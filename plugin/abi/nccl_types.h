// SPDX-License-Identifier: Apache-2.0
// NCCL's plugin types that all API versions share, declared by us from the public facts
// (NCCL 2.30, src/include/plugin/nccl_net.h and nccl.h). Values are part of NCCL's ABI.
#pragma once

#include <cstddef>
#include <cstdint>

extern "C" {

typedef enum {
  ncclSuccess = 0,
  ncclUnhandledCudaError = 1,
  ncclSystemError = 2,
  ncclInternalError = 3,
  ncclInvalidArgument = 4,
  ncclInvalidUsage = 5,
  ncclRemoteError = 6,
  ncclInProgress = 7
} ncclResult_t;

typedef enum {
  ncclInt8 = 0,
  ncclUint8 = 1,
  ncclInt32 = 2,
  ncclUint32 = 3,
  ncclInt64 = 4,
  ncclUint64 = 5,
  ncclFloat16 = 6,
  ncclFloat32 = 7,
  ncclFloat64 = 8,
  ncclBfloat16 = 9,
  ncclFloat8e4m3 = 10,
  ncclFloat8e5m2 = 11
} ncclDataType_t;

typedef enum { ncclSum = 0, ncclProd = 1, ncclMax = 2, ncclMin = 3, ncclAvg = 4 } ncclRedOp_t;

typedef enum {
  NCCL_LOG_NONE = 0,
  NCCL_LOG_VERSION = 1,
  NCCL_LOG_WARN = 2,
  NCCL_LOG_INFO = 3,
  NCCL_LOG_ABORT = 4,
  NCCL_LOG_TRACE = 5
} ncclDebugLogLevel;

typedef void (*ncclDebugLogger_t)(ncclDebugLogLevel level, unsigned long flags, const char* file,
                                  int line, const char* format, ...);

// Profiler callback, net API v10 and later.
typedef ncclResult_t (*ncclProfilerCallback_t)(void** eventHandle, int type, void* parentHandle,
                                               int64_t pluginId, void* extData);

// Device offload handle, API v7 and later; Sluice never offloads.
typedef struct {
  int netDeviceType;
  int netDeviceVersion;
  void* handle;
  size_t size;
  int needsProxyProgress;
} ncclNetDeviceHandle_t;

}  // extern "C"

namespace sluice::abi {

inline constexpr int kHandleBytes = 128;    // NCCL_NET_HANDLE_MAXSIZE
inline constexpr int kMaxRequests = 32;     // NCCL_NET_MAX_REQUESTS, 8 in v6 headers
inline constexpr int kMaxReceives = 8;      // buffers of one grouped receive
inline constexpr int kPointerHost = 0x1;    // NCCL_PTR_HOST
inline constexpr int kPointerCuda = 0x2;    // NCCL_PTR_CUDA
inline constexpr int kPointerDmaBuf = 0x4;  // NCCL_PTR_DMABUF
inline constexpr int kDeviceHost = 0;       // NCCL_NET_DEVICE_HOST
inline constexpr int kOldestVersion = 6;
inline constexpr int kNewestVersion = 12;

}  // namespace sluice::abi
