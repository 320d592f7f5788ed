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
  ncclResult_t close(void* comm) override { return this->table_.closeColl(comm); }

 private:
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
};

}  // namespace

std::unique_ptr<CollNetApi> CollNetApi::over(const PluginTable& table) {
  return for_version<std::unique_ptr<CollNetApi>>(table.version, [&](auto version) {
    return std::make_unique<CollNetFace<decltype(version)::value>>(table.table);
  });
}

}  // namespace sluice::perf
