// SPDX-License-Identifier: Apache-2.0
#include "tests/plugin/collnet_table.h"

#include <cstring>
#include <type_traits>

#include "tests/plugin/captured_log.h"

namespace sluice::test {
namespace {

template <int Version>
class CollNetTableOf final : public CollNetTable {
 public:
  using Table = typename abi::Abi<Version>::CollNet;
  using Count = std::conditional_t<Version <= 8, int, size_t>;
  using RegisterSize = std::conditional_t<Version <= 7, int, size_t>;

  explicit CollNetTableOf(const Table& table) : table_(table) {}

  int version() const override { return Version; }
  ncclResult_t init(void** context, uint64_t communicator) override {
    if constexpr (Version >= 11) {
      return table_.init(context, communicator, capture_log);
    } else {
      return table_.init(capture_log);
    }
  }
  ncclResult_t finalize(void* context) override {
    if constexpr (Version >= 11) return table_.finalize(context);
    return ncclSuccess;
  }
  ncclResult_t devices(int* count) override { return table_.devices(count); }

  bool has_properties_of_net(const PluginLibrary& library) override {
    typename Table::Properties ours;
    typename Table::Properties of_net;
    std::memset(static_cast<void*>(&ours), 0x55, sizeof ours);
    std::memset(static_cast<void*>(&of_net), 0x55, sizeof of_net);
    const auto* net = library.table<typename abi::Abi<Version>::Net>("ncclNetPlugin_v", Version);
    return table_.getProperties(0, &ours) == ncclSuccess &&
           net->getProperties(0, &of_net) == ncclSuccess &&
           std::strcmp(ours.name, of_net.name) == 0 &&
           std::strcmp(ours.pciPath, of_net.pciPath) == 0 &&
           std::memcmp(&ours.guid, &of_net.guid, offsetof_rest(ours)) == 0;
  }

  ncclResult_t listen(void* context, int device, void* handle, void** listen_comm) override {
    if constexpr (Version >= 11) {
      return table_.listen(context, device, handle, listen_comm);
    } else {
      return table_.listen(device, handle, listen_comm);
    }
  }
  ncclResult_t connect(void* handles[], int ranks, int rank, void* listen_comm,
                       void** coll_comm) override {
    return table_.connect(handles, ranks, rank, listen_comm, coll_comm);
  }
  ncclResult_t reduce_support(ncclDataType_t type, ncclRedOp_t op, int* supported) override {
    return table_.reduceSupport(type, op, supported);
  }
  ncclResult_t register_memory(void* comm, void* data, size_t size, int type,
                               void** handle) override {
    return table_.regMr(comm, data, static_cast<RegisterSize>(size), type, handle);
  }
  ncclResult_t deregister_memory(void* comm, void* handle) override {
    return table_.deregMr(comm, handle);
  }
  ncclResult_t allreduce(void* comm, void* send, void* receive, size_t count, ncclDataType_t type,
                         ncclRedOp_t op, void* send_handle, void* receive_handle,
                         void** request) override {
    return table_.iallreduce(comm, send, receive, static_cast<Count>(count), type, op, send_handle,
                             receive_handle, request);
  }
  bool has_windowed_collectives() const override {
    if constexpr (Version >= 8) {
      return table_.iallgather != nullptr && table_.ireducescatter != nullptr;
    }
    return false;
  }
  ncclResult_t allgather(void* comm, void* send, const std::vector<TablePart>& receive,
                         const TableWindow& window, void* send_handle, void** request) override {
    if constexpr (Version >= 8) {
      auto parts = parts_of(receive);
      return table_.iallgather(comm, send, static_cast<int>(parts.size()), parts.data(),
                               window.bytes_per_rank, window.offset, window.bytes, send_handle,
                               request);
    }
    return ncclInternalError;
  }
  ncclResult_t reduce_scatter(void* comm, const std::vector<TablePart>& send, void* receive,
                              const TableWindow& window, ncclDataType_t type, ncclRedOp_t op,
                              void* receive_handle, void** request) override {
    if constexpr (Version >= 8) {
      auto parts = parts_of(send);
      return table_.ireducescatter(comm, static_cast<int>(parts.size()), parts.data(), receive,
                                   window.bytes_per_rank, window.offset, window.bytes, type, op,
                                   receive_handle, request);
    }
    return ncclInternalError;
  }
  ncclResult_t flush(void* comm, void* data, int size, void* handle, void** request) override {
    return table_.iflush(comm, data, size, handle, request);
  }
  ncclResult_t test(void* request, int* done, int* size) override {
    return table_.test(request, done, size);
  }
  ncclResult_t close_coll(void* comm) override { return table_.closeColl(comm); }
  ncclResult_t close_listen(void* comm) override { return table_.closeListen(comm); }

 private:
  using Sge = std::conditional_t<Version <= 8, abi::NetSgeV8, abi::NetSgeV9>;

  static std::vector<Sge> parts_of(const std::vector<TablePart>& parts) {
    std::vector<Sge> made;
    for (const TablePart& part : parts) {
      made.push_back({part.handle, part.address, static_cast<decltype(Sge::size)>(part.size)});
    }
    return made;
  }

  // All after the two strings; the trailing padding of old versions is not NCCL's.
  static size_t offsetof_rest(const typename Table::Properties& properties) {
    const auto* first = reinterpret_cast<const char*>(&properties.guid);
    const auto* end = reinterpret_cast<const char*>(&properties.maxRecvs + 1);
    return static_cast<size_t>(end - first);
  }

  const Table& table_;
};

template <int Version>
std::unique_ptr<CollNetTable> load_collnet_version(const PluginLibrary& library) {
  using Table = typename abi::Abi<Version>::CollNet;
  const Table* table = library.table<Table>("ncclCollNetPlugin_v", Version);
  if (table == nullptr) return nullptr;
  return std::make_unique<CollNetTableOf<Version>>(*table);
}

}  // namespace

std::unique_ptr<CollNetTable> CollNetTable::load(const PluginLibrary& library, int version) {
  switch (version) {
    case 6:
      return load_collnet_version<6>(library);
    case 7:
      return load_collnet_version<7>(library);
    case 8:
      return load_collnet_version<8>(library);
    case 9:
      return load_collnet_version<9>(library);
    case 10:
      return load_collnet_version<10>(library);
    case 11:
      return load_collnet_version<11>(library);
    case 12:
      return load_collnet_version<12>(library);
    default:
      return nullptr;
  }
}

}  // namespace sluice::test
