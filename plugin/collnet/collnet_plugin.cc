// SPDX-License-Identifier: Apache-2.0
#include "plugin/collnet/collnet_plugin.h"

#include <utility>
#include <vector>

#include "plugin/collnet/open_client.h"
#include "plugin/handle.h"
#include "plugin/logging.h"

namespace sluice::plugin::collnet {
namespace {

void log_off(const Logger& logger, const std::string& name, const Error& error) {
  const LogLevel level = error.kind == ErrorKind::refused ? LogLevel::info : LogLevel::warn;
  SLUICE_LOG(logger, level, LogSubsystem::init, "%s: in-network reduction off: %s", name.c_str(),
             error.message.c_str());
}

tl::unexpected<Error> report(const CommunicatorContext& context, Error error) {
  log_off(context.logger(), context.name(), error);
  return fail(std::move(error));
}

Result<std::vector<transport::ListenerAddress>> read_handles(std::span<void* const> handles) {
  std::vector<transport::ListenerAddress> addresses;
  addresses.reserve(handles.size());
  for (const void* handle : handles) {
    if (handle == nullptr) return fail(ErrorKind::invalid_argument, "a rank's handle is null");
    addresses.push_back(read_handle(handle));
    SLUICE_RETURN_IF_ERROR(transport::check(addresses.back(), transport::Purpose::rendezvous));
  }
  return addresses;
}

Result<CollectiveComm*> collective_of(Comm* comm, const char* call) {
  if (comm == nullptr || comm->kind() != Comm::Kind::collective) {
    return library::reject(std::string(call) + " on what is no collective connection");
  }
  return static_cast<CollectiveComm*>(comm);
}

}  // namespace

Result<CommunicatorContext*> init(const InitArguments& arguments) {
  auto context = library::open_context(arguments);
  if (!context) {
    log_off(logger_for(arguments.log_callback), name_of(arguments), context.error());
    return fail(std::move(context).error());
  }
  return context->get();
}

Status finalize(const void* context) {
  return library::close_context(context);
}

Result<ListenComm*> listen(const library::ContextKey& key, int device_number, void* handle) {
  if (handle == nullptr) return library::reject("CollNet listen without a handle");
  auto found = library::find_context(key);
  if (!found) return fail(std::move(found).error());
  const std::shared_ptr<CommunicatorContext> context = *std::move(found);
  const auto device = context->device(device_number);
  if (!device) return report(*context, device.error());
  auto rendezvous = sharp::Rendezvous::open(context->transport(), (*device)->address);
  if (!rendezvous) return report(*context, std::move(rendezvous).error());
  write_handle(handle, (*rendezvous)->address());
  return library::keep_listen(
      std::make_shared<ListenComm>(context, device_number, *std::move(rendezvous)));
}

Result<Comm*> connect(std::span<void* const> handles, int rank, const void* listen_comm) {
  auto found = library::find_listen(listen_comm);
  if (!found) return fail(std::move(found).error());
  const std::shared_ptr<ListenComm> listen = *std::move(found);
  if (listen->rendezvous() == nullptr) {
    return library::reject("CollNet connect on a point-to-point listen");
  }
  const std::shared_ptr<CommunicatorContext>& context = listen->context();
  if (rank < 0 || static_cast<size_t>(rank) >= handles.size()) {
    return library::reject(format_text("rank %d of %zu", rank, handles.size()));
  }
  const auto addresses = read_handles(handles);
  if (!addresses) return report(*context, addresses.error());
  const std::lock_guard lock(listen->mutex());
  auto client = open_client(*context, listen->device(), *addresses, rank, *listen->rendezvous());
  if (!client) return report(*context, std::move(client).error());
  SLUICE_INFO(context->logger(), init, "%s: in-network reduction %s", context->name().c_str(),
              (*client)->description().c_str());
  return new CollectiveComm(context, *std::move(client), rank, static_cast<int>(handles.size()));
}

bool supports(int data_type, int reduce_operator) {
  if (data_type < 0 || data_type >= sharp::kDataTypes) return false;
  if (reduce_operator < 0 || reduce_operator >= sharp::kReduceOperators) return false;
  const auto type = static_cast<sharp::DataType>(data_type);
  const auto op = static_cast<sharp::ReduceOperator>(reduce_operator);
  if (!library::collnet_is_on() || !sharp::Client::supports(type, op)) return false;
  return !library::collnet_uses_libsharp() || libsharp_reduces(type, op);
}

Result<CollectiveRequest*> allreduce(Comm* comm, const AllreduceCall& call) {
  auto collective = collective_of(comm, "iallreduce");
  if (!collective) return fail(std::move(collective).error());
  return (*collective)->allreduce(call);
}

Result<CollectiveRequest*> allgather(Comm* comm, const AllgatherCall& call) {
  auto collective = collective_of(comm, "iallgather");
  if (!collective) return fail(std::move(collective).error());
  return (*collective)->allgather(call);
}

Result<CollectiveRequest*> reduce_scatter(Comm* comm, const ReduceScatterCall& call) {
  auto collective = collective_of(comm, "ireducescatter");
  if (!collective) return fail(std::move(collective).error());
  return (*collective)->reduce_scatter(call);
}

Result<bool> test(CollectiveRequest* request, size_t* bytes) {
  if (request == nullptr || request->comm == nullptr) {
    return library::reject("test of a null request");
  }
  return request->comm->test(*request, bytes);
}

}  // namespace sluice::plugin::collnet
