// SPDX-License-Identifier: Apache-2.0
#include "perf/driver/peer_link.h"

#include <cstdlib>
#include <utility>

#include "perf/driver/nccl_log.h"

namespace sluice::perf {
namespace {

constexpr size_t kPage = 4096;

}  // namespace

Result<PeerLink> PeerLink::connect(Communicator& communicator, int next, int previous) {
  PeerLink link(communicator);
  const bool takes_part = next >= 0 && previous >= 0;
  Handle handle{};
  Status status;
  if (takes_part) status = communicator.on_service([&] { return link.listen(&handle); });
  SLUICE_RETURN_IF_ERROR(communicator.bootstrap().agree(status));
  auto handles = communicator.bootstrap().allgather(handle);
  if (!handles) return fail(std::move(handles).error());
  if (takes_part) {
    Handle& target = (*handles)[static_cast<size_t>(next)];
    status = communicator.on_service([&] { return link.meet(&target); });
  }
  SLUICE_RETURN_IF_ERROR(communicator.bootstrap().agree(status));
  return link;
}

Status PeerLink::listen(Handle* handle) {
  Communicator& communicator = *communicator_;
  const ncclResult_t result =
      communicator.net().listen(communicator.device(), handle, &listen_comm_);
  if (result != ncclSuccess) return fail(error_of(result, "listen"));
  if (listen_comm_ == nullptr) return fail(ErrorKind::internal, "listen gave no listen comm");
  return {};
}

// The service thread's loop: connect and accept in turn until both have answered.
Status PeerLink::meet(Handle* next_handle) {
  NetApi& net = communicator_->net();
  Patience& patience = communicator_->patience();
  while (send_comm_ == nullptr || receive_comm_ == nullptr) {
    bool moved = false;
    if (send_comm_ == nullptr) {
      const ncclResult_t result = net.connect(communicator_->device(), next_handle, &send_comm_);
      if (result != ncclSuccess) return fail(error_of(result, "connect"));
      moved = send_comm_ != nullptr;
    }
    if (receive_comm_ == nullptr) {
      const ncclResult_t result = net.accept(listen_comm_, &receive_comm_);
      if (result != ncclSuccess) return fail(error_of(result, "accept"));
      if (receive_comm_ != nullptr) {  // NCCL closes the listen comm at once
        moved = true;
        void* const listen_comm = std::exchange(listen_comm_, nullptr);
        const ncclResult_t closed = net.close_listen(listen_comm);
        if (closed != ncclSuccess) return fail(error_of(closed, "closeListen"));
      }
    }
    if (moved) {
      patience.progress();
    } else {
      SLUICE_RETURN_IF_ERROR(patience.idle(send_comm_ == nullptr ? "in connect" : "in accept"));
    }
  }
  return {};
}

PeerLink::PeerLink(PeerLink&& other) noexcept
    : communicator_(other.communicator_),
      listen_comm_(std::exchange(other.listen_comm_, nullptr)),
      send_comm_(std::exchange(other.send_comm_, nullptr)),
      receive_comm_(std::exchange(other.receive_comm_, nullptr)) {}

// NCCL never closes the listen comm of a connection that did not come about; finalize must free it.
PeerLink::~PeerLink() {
  if (send_comm_ == nullptr && receive_comm_ == nullptr) return;
  static_cast<void>(communicator_->on_service([this]() -> Status {
    NetApi& net = communicator_->net();
    if (send_comm_ != nullptr) static_cast<void>(net.close_send(send_comm_));
    if (receive_comm_ != nullptr) static_cast<void>(net.close_receive(receive_comm_));
    return {};
  }));
}

HostMemory::HostMemory(size_t bytes)
    : size_(bytes),
      data_(static_cast<std::byte*>(
          std::aligned_alloc(kPage, (std::max<size_t>(bytes, 1) + kPage - 1) / kPage * kPage))) {}

void HostMemory::Free::operator()(std::byte* memory) const {
  std::free(memory);
}

Result<Registration> Registration::make(Communicator& communicator, PluginApi& api, void* comm,
                                        void* data, size_t bytes) {
  Registration registration(communicator, api, comm);
  SLUICE_RETURN_IF_ERROR(communicator.on_service([&]() -> Status {
    const ncclResult_t result = api.register_memory(comm, data, bytes, &registration.region_);
    if (result == ncclSuccess) return {};
    return fail(error_of(result, format_text("regMr of %zu bytes", bytes)));
  }));
  return registration;
}

Registration::Registration(Registration&& other) noexcept
    : communicator_(other.communicator_),
      api_(other.api_),
      comm_(other.comm_),
      region_(std::exchange(other.region_, nullptr)) {}

Registration::~Registration() {
  if (region_ == nullptr) return;
  static_cast<void>(communicator_->on_service([this]() -> Status {
    static_cast<void>(api_->deregister_memory(comm_, region_));
    return {};
  }));
}

}  // namespace sluice::perf
