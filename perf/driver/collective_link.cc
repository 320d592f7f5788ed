// SPDX-License-Identifier: Apache-2.0
#include "perf/driver/collective_link.h"

#include <utility>

#include "perf/driver/nccl_log.h"

namespace sluice::perf {

Result<CollectiveLink> CollectiveLink::connect(Communicator& communicator) {
  CollectiveLink link(communicator);
  Handle handle{};
  Status status = communicator.on_service([&] { return link.listen(&handle); });
  SLUICE_RETURN_IF_ERROR(communicator.bootstrap().agree(status));
  auto handles = communicator.bootstrap().allgather(handle);
  if (!handles) return fail(std::move(handles).error());
  status = communicator.on_service([&] { return link.meet(*handles); });
  SLUICE_RETURN_IF_ERROR(communicator.bootstrap().agree(status));
  return link;
}

Status CollectiveLink::listen(Handle* handle) {
  Communicator& communicator = *communicator_;
  const ncclResult_t result =
      communicator.collnet()->listen(communicator.device(), handle, &listen_comm_);
  if (result != ncclSuccess) return fail(error_of(result, "CollNet listen"));
  return {};
}

Status CollectiveLink::meet(std::vector<Handle>& handles) {
  std::vector<void*> pointers;
  pointers.reserve(handles.size());
  for (Handle& handle : handles) pointers.push_back(handle.data());
  CollNetApi& collnet = *communicator_->collnet();
  const Bootstrap& bootstrap = communicator_->bootstrap();
  const ncclResult_t result =
      collnet.connect(pointers.data(), bootstrap.size(), bootstrap.rank(), listen_comm_, &comm_);
  if (result != ncclSuccess) {
    listen_comm_ = nullptr;  // NCCL drops it without closeListen
    return fail(error_of(result, "CollNet connect"));
  }
  communicator_->patience().progress();
  const ncclResult_t closed = collnet.close_listen(std::exchange(listen_comm_, nullptr));
  if (closed != ncclSuccess) return fail(error_of(closed, "CollNet closeListen"));
  return {};
}

CollectiveLink::CollectiveLink(CollectiveLink&& other) noexcept
    : communicator_(other.communicator_),
      listen_comm_(std::exchange(other.listen_comm_, nullptr)),
      comm_(std::exchange(other.comm_, nullptr)) {}

CollectiveLink::~CollectiveLink() {
  if (comm_ == nullptr) return;
  static_cast<void>(communicator_->on_service([this]() -> Status {
    static_cast<void>(communicator_->collnet()->close(comm_));
    return {};
  }));
}

}  // namespace sluice::perf
