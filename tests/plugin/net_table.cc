// SPDX-License-Identifier: Apache-2.0
#include "tests/plugin/net_table.h"

#include <array>

#include "tests/plugin/captured_log.h"

namespace sluice::test {
namespace {

template <int Version>
class NetTableOf final : public NetTable {
 public:
  using Table = typename abi::Abi<Version>::Net;
  using Properties = typename Table::Properties;

  explicit NetTableOf(const Table& table) : table_(table) {}

  int version() const override { return Version; }

  ncclResult_t init(void** context, uint64_t communicator, int traffic_class) override {
    if constexpr (Version >= 11) {
      abi::NetCommConfig config{traffic_class};
      return table_.init(context, communicator, &config, capture_log, nullptr);
    } else if constexpr (Version == 10) {
      return table_.init(capture_log, nullptr);
    } else {
      return table_.init(capture_log);
    }
  }
  ncclResult_t finalize(void* context) override {
    if constexpr (Version >= 11) return table_.finalize(context);
    return ncclSuccess;
  }
  ncclResult_t devices(int* count) override { return table_.devices(count); }

  ncclResult_t properties(int device, abi::NetPropertiesV12* to) override {
    Properties from;
    const ncclResult_t result = table_.getProperties(device, &from);
    if (result != ncclSuccess) return result;
    *to = {};
    to->name = from.name;
    to->pciPath = from.pciPath;
    to->guid = from.guid;
    to->ptrSupport = from.ptrSupport;
    to->speed = from.speed;
    to->port = from.port;
    to->latency = from.latency;
    to->maxComms = from.maxComms;
    to->maxRecvs = from.maxRecvs;
    to->regIsGlobal = 1;
    if constexpr (requires { from.regIsGlobal; }) to->regIsGlobal = from.regIsGlobal;
    if constexpr (requires { from.netDeviceType; }) to->netDeviceType = from.netDeviceType;
    to->vProps.ndevs = 1;
    to->vProps.devs[0] = device;
    to->maxP2pBytes = to->maxCollBytes = 1;
    if constexpr (requires { from.vProps; }) {
      to->vProps.ndevs = from.vProps.ndevs;
      to->vProps.devs[0] = from.vProps.devs[0];
      to->forceFlush = from.forceFlush;
      to->maxP2pBytes = from.maxP2pBytes;
      to->maxCollBytes = from.maxCollBytes;
    }
    to->railId = to->planeId = -1;
    if constexpr (requires { from.railId; }) {
      to->railId = from.railId;
      to->planeId = from.planeId;
    }
    return result;
  }

  ncclResult_t listen(void* context, int device, void* handle, void** listen_comm) override {
    if constexpr (Version >= 11)
      return table_.listen(context, device, handle, listen_comm);
    else
      return table_.listen(device, handle, listen_comm);
  }

  ncclResult_t connect(void* context, int device, void* handle, void** send_comm) override {
    ncclNetDeviceHandle_t nowhere{};
    ncclNetDeviceHandle_t* offload = &nowhere;
    const ncclResult_t result = [&] {
      if constexpr (Version >= 11) {
        return table_.connect(context, device, handle, send_comm, &offload);
      } else if constexpr (Version == 10) {
        abi::NetCommConfig config{-1};
        return table_.connect(device, &config, handle, send_comm, &offload);
      } else if constexpr (Version >= 7) {
        return table_.connect(device, handle, send_comm, &offload);
      } else {
        offload = nullptr;
        return table_.connect(device, handle, send_comm);
      }
    }();
    return offload == nullptr ? result : ncclInternalError;
  }

  ncclResult_t accept(void* listen_comm, void** receive_comm) override {
    if constexpr (Version >= 7) {
      ncclNetDeviceHandle_t nowhere{};
      ncclNetDeviceHandle_t* offload = &nowhere;
      const ncclResult_t result = table_.accept(listen_comm, receive_comm, &offload);
      return offload == nullptr ? result : ncclInternalError;
    } else {
      return table_.accept(listen_comm, receive_comm);
    }
  }

  ncclResult_t register_memory(void* comm, void* data, int64_t size, int type,
                               void** handle) override {
    if constexpr (Version <= 7) {
      return table_.regMr(comm, data, static_cast<int>(size), type, handle);
    } else {
      return table_.regMr(comm, data, static_cast<size_t>(size), type, handle);
    }
  }
  ncclResult_t register_dma_buf(void* comm, void* data, size_t size, void** handle) override {
    return table_.regMrDmaBuf(comm, data, size, abi::kPointerCuda, 0, -1, handle);
  }
  ncclResult_t deregister_memory(void* comm, void* handle) override {
    return table_.deregMr(comm, handle);
  }

  ncclResult_t send(void* comm, void* data, int64_t size, int tag, void* handle,
                    void** request) override {
    const auto bytes = static_cast<Size>(size);
    if constexpr (Version >= 10) {
      return table_.isend(comm, data, bytes, tag, handle, nullptr, request);
    } else {
      return table_.isend(comm, data, bytes, tag, handle, request);
    }
  }

  ncclResult_t receive(void* comm, int count, void** data, const int64_t* sizes, int* tags,
                       void** handles, void** request) override {
    std::array<Size, 16> converted{};
    for (int index = 0; index < count && index < 16; ++index) {
      converted[static_cast<size_t>(index)] = static_cast<Size>(sizes[index]);
    }
    if constexpr (Version >= 10) {
      return table_.irecv(comm, count, data, converted.data(), tags, handles, nullptr, request);
    } else {
      return table_.irecv(comm, count, data, converted.data(), tags, handles, request);
    }
  }

  ncclResult_t flush(void* comm, int count, void** data, int* sizes, void** handles,
                     void** request) override {
    return table_.iflush(comm, count, data, sizes, handles, request);
  }
  ncclResult_t test(void* request, int* done, int* sizes) override {
    return table_.test(request, done, sizes);
  }
  ncclResult_t close_send(void* comm) override { return table_.closeSend(comm); }
  ncclResult_t close_receive(void* comm) override { return table_.closeRecv(comm); }
  ncclResult_t close_listen(void* comm) override { return table_.closeListen(comm); }

 private:
  using Size = std::conditional_t<Version <= 8, int, size_t>;

  const Table& table_;
};

template <int Version>
std::unique_ptr<NetTable> load_version(const PluginLibrary& library) {
  using Table = typename abi::Abi<Version>::Net;
  const Table* table = library.table<Table>("ncclNetPlugin_v", Version);
  if (table == nullptr) return nullptr;
  return std::make_unique<NetTableOf<Version>>(*table);
}

}  // namespace

std::unique_ptr<NetTable> NetTable::load(const PluginLibrary& library, int version) {
  switch (version) {
    case 6:
      return load_version<6>(library);
    case 7:
      return load_version<7>(library);
    case 8:
      return load_version<8>(library);
    case 9:
      return load_version<9>(library);
    case 10:
      return load_version<10>(library);
    case 11:
      return load_version<11>(library);
    case 12:
      return load_version<12>(library);
    default:
      return nullptr;
  }
}

}  // namespace sluice::test
