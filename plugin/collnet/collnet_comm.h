// SPDX-License-Identifier: Apache-2.0
// CollectiveComm: NCCL's collComm, this rank's membership in a reduction group.
// Ownership, errors and thread rule: plugin/comm.h.
#pragma once

#include <array>
#include <memory>

#include "plugin/comm.h"
#include "plugin/request_pool.h"
#include "sharp/client/client.h"

namespace sluice::plugin::collnet {

class CollectiveComm;

// NCCL's request.
struct CollectiveRequest {
  CollectiveComm* comm = nullptr;
  sharp::Operation* inner = nullptr;
  std::array<MemoryHandle*, 2> memory{};
  bool in_use = false;
};

struct AllreduceCall {
  const void* send = nullptr;
  void* receive = nullptr;
  size_t count = 0;  // elements
  int data_type = 0;
  int reduce_operator = 0;
  void* send_handle = nullptr;
  void* receive_handle = nullptr;
};

class CollectiveComm final : public Comm {
 public:
  CollectiveComm(std::shared_ptr<CommunicatorContext> context,
                 std::unique_ptr<sharp::Client> client);

  // nullptr: too many in flight, try again.
  Result<CollectiveRequest*> allreduce(const AllreduceCall& call);
  // True once the result is in place; `bytes` (may be null) is its size.
  Result<bool> test(CollectiveRequest& request, size_t* bytes);

 private:
  Result<std::unique_ptr<transport::MemoryRegion>> register_region(void* data,
                                                                   size_t size) override;
  void drop_connection() override { client_.reset(); }
  Result<sharp::AllreduceArguments> check(const AllreduceCall& call);

  RequestPool<CollectiveRequest> requests_;
  std::unique_ptr<sharp::Client> client_;
};

}  // namespace sluice::plugin::collnet
