// SPDX-License-Identifier: Apache-2.0
#include "perf/driver/net_api.h"
#include "perf/driver/table_face.h"

namespace sluice::perf {
namespace {

template <int Version>
class CollNetFace final
    : public TableFace<Version, typename abi::Abi<Version>::CollNet, CollNetApi> {
 public:
  using Base = TableFace<Version, typename abi::Abi<Version>::CollNet, CollNetApi>;
  using Base::Base;

  ncclResult_t init(uint64_t communicator_id) override {
    if constexpr (Version >= 11) {
      return this->table_.init(&this->context_, communicator_id, nccl_logger());
    } else {
      return this->table_.init(nccl_logger());
    }
  }
  ncclResult_t reduce_support(ncclDataType_t type, ncclRedOp_t op, int* supported) override {
    return this->table_.reduceSupport(type, op, supported);
  }
  bool has_windowed_collectives() const override {
    if constexpr (Version >= 8) {
      return this->table_.iallgather != nullptr && this->table_.ireducescatter != nullptr;
    }
    return false;
  }
  ncclResult_t close(void* comm) override { return this->table_.closeColl(comm); }

 private:
  using Sge = std::conditional_t<Version <= 8, abi::NetSgeV8, abi::NetSgeV9>;

  ncclResult_t do_connect(void** handles, int ranks, int rank, void* listen_comm,
                          void** comm) override {
    return this->table_.connect(handles, ranks, rank, listen_comm, comm);
  }
  ncclResult_t do_iallreduce(void* comm, void* send, void* receive, size_t count,
                             ncclDataType_t type, ncclRedOp_t op, void* send_region,
                             void* receive_region, void** request) override {
    if constexpr (Version <= 8) {
      if (!fits<int>(count)) return ncclInvalidArgument;
      return this->table_.iallreduce(comm, send, receive, static_cast<int>(count), type, op,
                                     send_region, receive_region, request);
    } else {
      return this->table_.iallreduce(comm, send, receive, count, type, op, send_region,
                                     receive_region, request);
    }
  }
  ncclResult_t do_iallgather(void* comm, void* send, void* receive, const Window& window,
                             void* send_region, void* receive_region, void** request) override {
    if constexpr (Version >= 8) {
      if (!fits<decltype(Sge::size)>(window.bytes)) return ncclInvalidArgument;
      Sge part{receive_region, receive, static_cast<decltype(Sge::size)>(window.bytes)};
      return this->table_.iallgather(comm, send, 1, &part, window.bytes_per_rank, window.offset,
                                     window.bytes, send_region, request);
    }
    return ncclInvalidUsage;
  }
  ncclResult_t do_ireducescatter(void* comm, void* send, void* receive, const Window& window,
                                 ncclDataType_t type, ncclRedOp_t op, void* send_region,
                                 void* receive_region, void** request) override {
    if constexpr (Version >= 8) {
      if (!fits<decltype(Sge::size)>(window.bytes)) return ncclInvalidArgument;
      Sge part{send_region, send, static_cast<decltype(Sge::size)>(window.bytes)};
      return this->table_.ireducescatter(comm, 1, &part, receive, window.bytes_per_rank,
                                         window.offset, window.bytes, type, op, receive_region,
                                         request);
    }
    return ncclInvalidUsage;
  }
};

}  // namespace

std::unique_ptr<CollNetApi> CollNetApi::over(const PluginTable& table) {
  return for_version<std::unique_ptr<CollNetApi>>(table.version, [&](auto version) {
    return std::make_unique<CollNetFace<decltype(version)::value>>(table.table);
  });
}

}  // namespace sluice::perf
