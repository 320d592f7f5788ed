// SPDX-License-Identifier: Apache-2.0
// The one adaptor template below NetApi and CollNetApi: what is common to both tables of version V.
// Private to net_api.cc and collnet_api.cc.
#pragma once

#include <limits>

#include "perf/driver/nccl_log.h"
#include "perf/driver/net_api.h"
#include "plugin/abi/versions.h"

namespace sluice::perf {

// Members came with the versions; a member that the layout lacks keeps NCCL's default.
template <typename Properties>
void copy_properties(const Properties& from, DeviceProperties* to) {
  to->name = from.name != nullptr ? from.name : "";
  to->pci_path = from.pciPath != nullptr ? from.pciPath : "";
  to->pointer_support = from.ptrSupport;
  to->speed = from.speed;
  to->max_receives = from.maxRecvs;
  if constexpr (requires { from.regIsGlobal; }) to->registration_is_global = from.regIsGlobal != 0;
  if constexpr (requires { from.maxP2pBytes; }) to->max_p2p_bytes = from.maxP2pBytes;
  if constexpr (requires { from.maxCollBytes; }) to->max_collective_bytes = from.maxCollBytes;
}

// Narrows a size for the versions whose tables have int; false when it does not fit.
template <typename Narrow>
bool fits(size_t size) {
  return size <= static_cast<size_t>(std::numeric_limits<Narrow>::max());
}

template <int Version, typename Table, typename Base>
class TableFace : public Base {
 public:
  explicit TableFace(void* table) : table_(*static_cast<const Table*>(table)) {}

  int version() const final { return Version; }
  const char* name() const final { return table_.name != nullptr ? table_.name : "(no name)"; }
  ncclResult_t devices(int* count) final { return table_.devices(count); }
  ncclResult_t properties(int device, DeviceProperties* properties) final {
    typename Table::Properties raw{};
    const ncclResult_t result = table_.getProperties(device, &raw);
    if (result == ncclSuccess) copy_properties(raw, properties);
    return result;
  }
  ncclResult_t finalize() final {
    if constexpr (Version >= 11) {
      return table_.finalize(context_);
    } else {
      return ncclSuccess;
    }
  }
  ncclResult_t register_memory(void* comm, void* data, size_t size, void** region) final {
    if constexpr (Version <= 7) {
      if (!fits<int>(size)) return ncclInvalidArgument;
      return table_.regMr(comm, data, static_cast<int>(size), abi::kPointerHost, region);
    } else {
      return table_.regMr(comm, data, size, abi::kPointerHost, region);
    }
  }
  ncclResult_t deregister_memory(void* comm, void* region) final {
    return table_.deregMr(comm, region);
  }
  ncclResult_t close_listen(void* listen_comm) final { return table_.closeListen(listen_comm); }

 protected:
  const Table& table_;
  void* context_ = nullptr;  // v11 and later

 private:
  ncclResult_t do_listen(int device, Handle* handle, void** listen_comm) final {
    if constexpr (Version >= 11) {
      return table_.listen(context_, device, handle->data(), listen_comm);
    } else {
      return table_.listen(device, handle->data(), listen_comm);
    }
  }
  ncclResult_t do_test(void* request, int* done, int* sizes) final {
    return table_.test(request, done, sizes);
  }
};

// Calls make(std::integral_constant<int, V>) for the V that equals `version`; nullptr if none does.
template <typename Made, int V = abi::kOldestVersion, typename Make>
Made for_version(int version, Make&& make) {
  if constexpr (V <= abi::kNewestVersion) {
    if (version == V) return make(std::integral_constant<int, V>{});
    return for_version<Made, V + 1>(version, std::forward<Make>(make));
  } else {
    return nullptr;
  }
}

}  // namespace sluice::perf
