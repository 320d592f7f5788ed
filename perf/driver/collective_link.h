// SPDX-License-Identifier: Apache-2.0
// CollectiveLink: a CollNet comm over all ranks.
//
// Thread and ownership rules as PeerLink's.
#pragma once

#include "base/result.h"
#include "perf/driver/communicator.h"

namespace sluice::perf {

class CollectiveLink {
 public:
  // All ranks call it; the plugin's connect may block, within its own deadline.
  static Result<CollectiveLink> connect(Communicator& communicator);

  CollectiveLink(CollectiveLink&& other) noexcept;
  CollectiveLink& operator=(CollectiveLink&&) = delete;
  ~CollectiveLink();

  void* comm() const { return comm_; }
  Communicator& communicator() const { return *communicator_; }

 private:
  explicit CollectiveLink(Communicator& communicator) : communicator_(&communicator) {}
  Status listen(Handle* handle);
  Status meet(std::vector<Handle>& handles);

  Communicator* communicator_;
  void* listen_comm_ = nullptr;
  void* comm_ = nullptr;
};

}  // namespace sluice::perf
