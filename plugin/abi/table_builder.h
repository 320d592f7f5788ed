// SPDX-License-Identifier: Apache-2.0
// Builds NCCL's net tables of every API version from one internal interface
// (plugin/net/net_plugin.h), and what they have in common with the CollNet tables
// (collnet_table_builder.h).
//
// What differs between versions is the shape of some signatures: a context or not, int or size_t, a
// profiler handle or not. Generic lambdas take whatever shape the member has. Members a version
// lacks are skipped, members that Sluice does not offer stay null. Every entry writes its results
// first, null, and goes through edge::enter().
#pragma once

#include <array>
#include <span>
#include <utility>

#include "plugin/abi/edge.h"
#include "plugin/abi/properties.h"
#include "plugin/abi/versions.h"
#include "plugin/collnet/collnet_plugin.h"
#include "plugin/net/net_plugin.h"

namespace sluice::plugin::abi_tables {

inline constexpr const char* kPluginName = "SLUICE";

inline constexpr bool per_communicator(int version) {
  return version >= 11;
}

inline Comm* comm_of(void* comm) {
  return static_cast<Comm*>(comm);
}

// --- what net and CollNet have in common ---------------------------------------------------------

inline ncclResult_t count_devices(int* count) {
  return edge::enter([&]() -> Status {
    if (count == nullptr) return library::reject("devices without a place for the count");
    *count = 0;
    const auto devices = net::device_count();
    if (!devices) return fail(devices.error());
    *count = *devices;
    return {};
  });
}

template <typename Properties>
ncclResult_t get_properties(int device, Properties* properties) {
  return edge::enter([&]() -> Status {
    if (properties == nullptr) return library::reject("getProperties without a place for them");
    const auto found = net::properties(device);
    if (!found) return fail(found.error());
    fill_properties(**found, device, *properties);
    return {};
  });
}

template <typename Size>
ncclResult_t register_memory(void* comm, void* data, Size size, int type, void** handle) {
  return edge::enter([&]() -> Status {
    if (handle == nullptr) return library::reject("regMr without a place for the handle");
    *handle = nullptr;
    if (edge::is_negative(size)) return library::reject("regMr with a negative size");
    return edge::store(net::register_memory(comm_of(comm), data, static_cast<size_t>(size), type),
                       handle);
  });
}

inline ncclResult_t register_dma_buf(void*, void*, size_t, int, uint64_t, int, void** handle) {
  return edge::enter([&]() -> Status {
    if (handle != nullptr) *handle = nullptr;
    return library::reject(
        "dma-buf memory cannot be registered: the devices take host memory only");
  });
}

inline ncclResult_t deregister_memory(void* comm, void* handle) {
  return edge::enter([&] { return net::deregister_memory(comm_of(comm), handle); });
}

inline ncclResult_t close_comm(void* comm) {
  return edge::enter([&]() -> Status {
    net::close(comm_of(comm));
    return {};
  });
}

inline ncclResult_t close_listen(void* listen_comm) {
  return edge::enter([&] { return library::close_listen(listen_comm); });
}

using InitFunction = Result<CommunicatorContext*> (*)(const InitArguments&);

// `context` is null for versions that have none.
inline ncclResult_t init(InitFunction function, const InitArguments& arguments, void** context) {
  return edge::enter([&]() -> Status {
    if (context != nullptr) *context = nullptr;
    if (arguments.per_communicator && context == nullptr) {
      return library::reject("init without a place for the context");
    }
    const auto made = function(arguments);
    if (!made) return fail(made.error());
    if (context != nullptr) *context = *made;
    return {};
  });
}

using ListenFunction = Result<ListenComm*> (*)(const library::ContextKey&, int, void*);

inline ncclResult_t listen(ListenFunction function, const library::ContextKey& key, int device,
                           void* handle, void** listen_comm) {
  return edge::enter([&]() -> Status {
    if (listen_comm == nullptr) return library::reject("listen without a place for listenComm");
    *listen_comm = nullptr;
    return edge::store(function(key, device, handle), listen_comm);
  });
}

template <Role role, int Version, typename Table>
constexpr void fill_common(Table& table) {
  constexpr ListenFunction kListen = role == Role::net ? net::listen : collnet::listen;
  table.name = kPluginName;
  table.devices = count_devices;
  table.getProperties = get_properties<typename Table::Properties>;
  table.regMr = [](void* comm, void* data, auto size, int type, void** handle) {
    return register_memory(comm, data, size, type, handle);
  };
  table.regMrDmaBuf = register_dma_buf;
  table.deregMr = deregister_memory;
  table.closeListen = close_listen;
  if constexpr (per_communicator(Version)) {
    table.listen = [](void* context, int device, void* handle, void** listen_comm) {
      return listen(kListen, {role, true, context}, device, handle, listen_comm);
    };
    table.finalize = [](void* context) {
      return edge::enter([&] { return library::close_context(context); });
    };
  } else {
    table.listen = [](int device, void* handle, void** listen_comm) {
      return listen(kListen, {role, false, nullptr}, device, handle, listen_comm);
    };
  }
}

// --- net -----------------------------------------------------------------------------------------

inline ncclResult_t connect(const library::ContextKey& key, int device, void* handle,
                            void** send_comm, ncclNetDeviceHandle_t** offload = nullptr) {
  return edge::enter([&]() -> Status {
    if (offload != nullptr) *offload = nullptr;
    if (send_comm == nullptr) return library::reject("connect without a place for sendComm");
    *send_comm = nullptr;
    return edge::store(net::connect(key, device, handle), send_comm);
  });
}

inline ncclResult_t accept(void* listen_comm, void** receive_comm,
                           ncclNetDeviceHandle_t** offload = nullptr) {
  return edge::enter([&]() -> Status {
    if (offload != nullptr) *offload = nullptr;
    if (receive_comm == nullptr) return library::reject("accept without a place for recvComm");
    *receive_comm = nullptr;
    return edge::store(net::accept(listen_comm), receive_comm);
  });
}

template <typename Size>
ncclResult_t send(void* comm, void* data, Size size, int tag, void* handle, void** request) {
  return edge::enter([&]() -> Status {
    if (request == nullptr) return library::reject("isend without a place for the request");
    *request = nullptr;
    if (edge::is_negative(size)) return library::reject("isend with a negative size");
    return edge::store(net::send(comm_of(comm), data, static_cast<size_t>(size), tag, handle),
                       request);
  });
}

template <typename Size>
Result<std::array<net::PostedBuffer, transport::kMaxGroup>> gather_buffers(int count, void** data,
                                                                           const Size* sizes,
                                                                           const int* tags,
                                                                           void** handles) {
  if (count < 1 || count > transport::kMaxGroup) {
    return library::reject(
        format_text("irecv of %d buffers, 1 to %d are possible", count, transport::kMaxGroup));
  }
  if (data == nullptr || sizes == nullptr || tags == nullptr) {
    return library::reject("irecv without buffers, sizes or tags");
  }
  std::array<net::PostedBuffer, transport::kMaxGroup> buffers;
  for (int index = 0; index < count; ++index) {
    if (edge::is_negative(sizes[index])) return library::reject("irecv with a negative size");
    buffers[static_cast<size_t>(index)] = {data[index], static_cast<size_t>(sizes[index]),
                                           tags[index],
                                           handles == nullptr ? nullptr : handles[index]};
  }
  return buffers;
}

template <typename Size>
ncclResult_t receive(void* comm, int count, void** data, const Size* sizes, const int* tags,
                     void** handles, void** request) {
  return edge::enter([&]() -> Status {
    if (request == nullptr) return library::reject("irecv without a place for the request");
    *request = nullptr;
    const auto buffers = gather_buffers(count, data, sizes, tags, handles);
    if (!buffers) return fail(buffers.error());
    return edge::store(
        net::receive(comm_of(comm), std::span(*buffers).first(static_cast<size_t>(count))),
        request);
  });
}

// Host memory needs no flush: a null request says that it is done already.
inline ncclResult_t flush(void*, int, void**, int*, void**, void** request) {
  if (request != nullptr) *request = nullptr;
  return ncclSuccess;
}

inline ncclResult_t test(void* request, int* done, int* sizes) {
  return edge::enter([&]() -> Status {
    if (done == nullptr) return library::reject("test without a place for done");
    *done = 0;
    const auto completion = net::test(static_cast<net::NetRequest*>(request));
    if (!completion) return fail(completion.error());
    if (!completion->done) return {};
    *done = 1;
    for (int index = 0; sizes != nullptr && index < completion->count; ++index) {
      sizes[index] = edge::clamp_size(completion->sizes[static_cast<size_t>(index)]);
    }
    return {};
  });
}

inline int traffic_class_of(const abi::NetCommConfig* config) {
  return config == nullptr ? -1 : config->trafficClass;
}

template <int Version, typename Table>
constexpr void fill_net_setup(Table& table) {
  if constexpr (per_communicator(Version)) {
    table.init = [](void** context, uint64_t communicator, abi::NetCommConfig* config,
                    ncclDebugLogger_t log, ncclProfilerCallback_t) {
      return init(net::init,
                  {Role::net, Version, true, communicator, traffic_class_of(config), log}, context);
    };
    table.connect = [](void* context, int device, void* handle, void** send_comm,
                       ncclNetDeviceHandle_t** offload) {
      return connect({Role::net, true, context}, device, handle, send_comm, offload);
    };
    table.setNetAttr = [](void* context, abi::NetAttributes* attributes) {
      return edge::enter([&] { return net::set_attributes(context, attributes); });
    };
  } else {
    table.init = [](ncclDebugLogger_t log, auto... /* profiler */) {
      return init(net::init, {Role::net, Version, false, 0, -1, log}, nullptr);
    };
    if constexpr (Version == 10) {
      table.connect = [](int device, abi::NetCommConfig* config, void* handle, void** send_comm,
                         ncclNetDeviceHandle_t** offload) {
        return connect({Role::net, false, nullptr, traffic_class_of(config)}, device, handle,
                       send_comm, offload);
      };
    } else {
      table.connect = [](int device, void* handle, void** send_comm, auto... offload) {
        return connect({Role::net, false, nullptr}, device, handle, send_comm, offload...);
      };
    }
  }
  table.accept = [](void* listen_comm, void** receive_comm, auto... offload) {
    return accept(listen_comm, receive_comm, offload...);
  };
}

template <int Version>
constexpr typename abi::Abi<Version>::Net make_net_table() {
  typename abi::Abi<Version>::Net table{};
  fill_common<Role::net, Version>(table);
  fill_net_setup<Version>(table);
  table.isend = [](void* comm, void* data, auto size, int tag, void* handle, auto... rest) {
    return send(comm, data, size, tag, handle, edge::last_of(rest...));
  };
  table.irecv = [](void* comm, int count, void** data, auto* sizes, int* tags, void** handles,
                   auto... rest) {
    return receive(comm, count, data, sizes, tags, handles, edge::last_of(rest...));
  };
  table.iflush = flush;
  table.test = test;
  table.closeSend = close_comm;
  table.closeRecv = close_comm;
  return table;
}

}  // namespace sluice::plugin::abi_tables
