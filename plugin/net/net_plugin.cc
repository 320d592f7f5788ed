// SPDX-License-Identifier: Apache-2.0
#include "plugin/net/net_plugin.h"

#include <utility>

#include "plugin/handle.h"

namespace sluice::plugin::net {
namespace {

// Logs what another layer found on behalf of `context`.
tl::unexpected<Error> report(const CommunicatorContext& context, Error error) {
  SLUICE_WARN(context.logger(), net, "%s", error.message.c_str());
  return fail(std::move(error));
}

template <typename Wanted>
Result<Wanted*> comm_of(Comm* comm, Comm::Kind kind, const char* call) {
  if (comm == nullptr) return library::reject(std::string(call) + " on a null connection");
  if (comm->kind() != kind) {
    return library::reject(std::string(call) + " on a connection of the other direction");
  }
  return static_cast<Wanted*>(comm);
}

Result<std::unique_ptr<transport::Connector>> resume_or_start(
    CommunicatorContext& context, int device, const transport::ListenerAddress& address) {
  if (auto connector = context.pending_connects().take(device, address)) return connector;
  return transport::Connector::open(context.transport(), address, transport::Purpose::net);
}

}  // namespace

Result<CommunicatorContext*> init(const InitArguments& arguments) {
  auto context = library::open_context(arguments);
  if (!context) return fail(std::move(context).error());
  (*context)->log_communicator_line();
  return context->get();
}

Status finalize(const void* context) {
  return library::close_context(context);
}

Status set_attributes(const void* pointer, const abi::NetAttributes* attributes) {
  auto context = library::find_context({Role::net, true, pointer});
  if (!context) return fail(std::move(context).error());
  if (attributes != nullptr) (*context)->hints().store(*attributes);
  return {};
}

Result<int> device_count() {
  const auto devices = library::devices();
  if (devices == nullptr) {
    return fail(ErrorKind::invalid_usage, "devices were asked for before init");
  }
  return static_cast<int>(devices->size());
}

Result<const DeviceProperties*> properties(int device) {
  const auto devices = library::devices();
  if (devices == nullptr || device < 0 || static_cast<size_t>(device) >= devices->size()) {
    return library::reject(format_text("properties of device %d, which does not exist", device));
  }
  return &(*devices)[static_cast<size_t>(device)]
              .properties;  // lives as long as the library's list
}

Result<ListenComm*> listen(const library::ContextKey& key, int device_number, void* handle) {
  if (handle == nullptr) return library::reject("listen without a handle");
  auto found = library::find_context(key);
  if (!found) return fail(std::move(found).error());
  const std::shared_ptr<CommunicatorContext> context = *std::move(found);
  const auto device = context->device(device_number);
  if (!device) return report(*context, device.error());
  auto listener = transport::Listener::open(context->transport(),
                                            {transport::Purpose::net, (*device)->address, true});
  if (!listener) return report(*context, std::move(listener).error());
  write_handle(handle, (*listener)->address());
  return library::keep_listen(
      std::make_shared<ListenComm>(context, device_number, *std::move(listener)));
}

Result<Comm*> connect(const library::ContextKey& key, int device, const void* handle) {
  if (handle == nullptr) return library::reject("connect without a handle");
  auto found = library::find_context(key);
  if (!found) return fail(std::move(found).error());
  const std::shared_ptr<CommunicatorContext> context = *std::move(found);
  if (auto known = context->device(device); !known) return report(*context, known.error());
  const transport::ListenerAddress address = read_handle(handle);
  if (auto sound = transport::check(address, transport::Purpose::net); !sound) {
    return report(*context, std::move(sound).error());
  }
  auto connector = resume_or_start(*context, device, address);
  if (!connector) return report(*context, std::move(connector).error());
  auto connection = (*connector)->progress();  // logs its own error
  if (!connection) return fail(std::move(connection).error());
  if (*connection == nullptr) {
    context->pending_connects().put(device, address, *std::move(connector));
    return nullptr;
  }
  return new SendComm(context, *std::move(connection));
}

Result<Comm*> accept(const void* listen_comm) {
  auto found = library::find_listen(listen_comm);
  if (!found) return fail(std::move(found).error());
  ListenComm& listen = **found;
  if (listen.listener() == nullptr) return library::reject("accept on a CollNet listen");
  const std::lock_guard lock(listen.mutex());
  auto connection = listen.listener()->accept();
  if (!connection) {
    if (listen.first_error()) return report(*listen.context(), std::move(connection).error());
    return fail(std::move(connection).error());
  }
  if (*connection == nullptr) return nullptr;
  return new ReceiveComm(listen.context(), *std::move(connection));
}

Result<NetRequest*> send(Comm* comm, const void* data, size_t size, int tag, void* handle) {
  const auto send_comm = comm_of<SendComm>(comm, Comm::Kind::send, "isend");
  if (!send_comm) return fail(send_comm.error());
  return (*send_comm)->send(data, size, tag, handle);
}

Result<NetRequest*> receive(Comm* comm, std::span<const PostedBuffer> buffers) {
  const auto receive_comm = comm_of<ReceiveComm>(comm, Comm::Kind::receive, "irecv");
  if (!receive_comm) return fail(receive_comm.error());
  return (*receive_comm)->receive(buffers);
}

Result<transport::Completion> test(NetRequest* request) {
  if (request == nullptr || request->comm == nullptr) {
    return library::reject("test of a null request");
  }
  return request->comm->test(*request);
}

Result<MemoryHandle*> register_memory(Comm* comm, void* data, size_t size, int type) {
  if (comm == nullptr) return library::reject("regMr on a null connection");
  return comm->register_memory(data, size, type);
}

Status deregister_memory(Comm* comm, const void* handle) {
  if (comm == nullptr) return library::reject("deregMr on a null connection");
  comm->deregister_memory(handle);
  return {};
}

void close(Comm* comm) {
  delete comm;
}

}  // namespace sluice::plugin::net
