// SPDX-License-Identifier: Apache-2.0
#include "perf/driver/net_api.h"

#include "perf/driver/table_face.h"

namespace sluice::perf {
namespace {

template <int Version>
class NetFace final : public TableFace<Version, typename abi::Abi<Version>::Net, NetApi> {
 public:
  using Base = TableFace<Version, typename abi::Abi<Version>::Net, NetApi>;
  using Base::Base;

  ncclResult_t init(uint64_t communicator_id) override {
    if constexpr (Version >= 11) {
      return this->table_.init(&this->context_, communicator_id, &config_, nccl_logger(), nullptr);
    } else if constexpr (Version == 10) {
      return this->table_.init(nccl_logger(), nullptr);
    } else {
      return this->table_.init(nccl_logger());
    }
  }

  ncclResult_t irecv(void* comm, int count, void** data, size_t* sizes, int* tags, void** regions,
                     void** request) override {
    if constexpr (Version <= 8) {
      int narrow[abi::kMaxReceives];
      if (count > abi::kMaxReceives) return ncclInvalidArgument;
      for (int index = 0; index < count; ++index) {
        if (!fits<int>(sizes[index])) return ncclInvalidArgument;
        narrow[index] = static_cast<int>(sizes[index]);
      }
      *request = nullptr;  // NCCL's shims clear the hint
      return this->table_.irecv(comm, count, data, narrow, tags, regions, request);
    } else if constexpr (Version == 9) {
      return this->table_.irecv(comm, count, data, sizes, tags, regions, request);
    } else {
      void* profiler_handles[abi::kMaxReceives] = {};
      return this->table_.irecv(comm, count, data, sizes, tags, regions, profiler_handles, request);
    }
  }

  ncclResult_t close_send(void* comm) override { return this->table_.closeSend(comm); }
  ncclResult_t close_receive(void* comm) override { return this->table_.closeRecv(comm); }

 private:
  ncclResult_t do_connect(int device, Handle* handle, void** comm) override {
    ncclNetDeviceHandle_t* device_comm = nullptr;
    if constexpr (Version >= 11) {
      return this->table_.connect(this->context_, device, handle->data(), comm, &device_comm);
    } else if constexpr (Version == 10) {
      return this->table_.connect(device, &config_, handle->data(), comm, &device_comm);
    } else if constexpr (Version >= 7) {
      return this->table_.connect(device, handle->data(), comm, &device_comm);
    } else {
      return this->table_.connect(device, handle->data(), comm);
    }
  }

  ncclResult_t do_accept(void* listen_comm, void** comm) override {
    if constexpr (Version >= 7) {
      ncclNetDeviceHandle_t* device_comm = nullptr;
      return this->table_.accept(listen_comm, comm, &device_comm);
    } else {
      return this->table_.accept(listen_comm, comm);
    }
  }

  ncclResult_t do_isend(void* comm, void* data, size_t size, int tag, void* region,
                        void** request) override {
    if constexpr (Version <= 8) {
      if (!fits<int>(size)) return ncclInvalidArgument;
      return this->table_.isend(comm, data, static_cast<int>(size), tag, region, request);
    } else if constexpr (Version == 9) {
      return this->table_.isend(comm, data, size, tag, region, request);
    } else {
      return this->table_.isend(comm, data, size, tag, region, nullptr, request);
    }
  }

  abi::NetCommConfig config_{-1};  // no traffic class asked for
};

}  // namespace

std::unique_ptr<NetApi> NetApi::over(const PluginTable& table) {
  return for_version<std::unique_ptr<NetApi>>(table.version, [&](auto version) {
    return std::make_unique<NetFace<decltype(version)::value>>(table.table);
  });
}

}  // namespace sluice::perf
