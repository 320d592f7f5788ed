// SPDX-License-Identifier: Apache-2.0
// CollectiveComm: NCCL's collComm, this rank's membership in a reduction group.
// Ownership, errors and thread rule: plugin/comm.h.
#pragma once

#include <memory>
#include <vector>

#include "plugin/collnet/calls.h"
#include "plugin/comm.h"
#include "plugin/request_pool.h"
#include "sharp/client/client.h"

namespace sluice::plugin::collnet {

class CollectiveComm;

// NCCL's request.
struct CollectiveRequest {
  CollectiveComm* comm = nullptr;
  sharp::Operation* inner = nullptr;
  std::vector<MemoryHandle*> memory;  // claimed; keeps its room from request to request
  bool in_use = false;
};

class CollectiveComm final : public Comm {
 public:
  CollectiveComm(std::shared_ptr<CommunicatorContext> context,
                 std::unique_ptr<sharp::Client> client, int rank, int ranks);

  // Each of the three gives nullptr when too many are in flight: try again.
  Result<CollectiveRequest*> allreduce(const AllreduceCall& call);
  Result<CollectiveRequest*> allgather(const AllgatherCall& call);
  Result<CollectiveRequest*> reduce_scatter(const ReduceScatterCall& call);
  // True once the result is in place; `bytes` (may be null) is its size.
  Result<bool> test(CollectiveRequest& request, size_t* bytes);

 private:
  Result<std::unique_ptr<transport::MemoryRegion>> register_region(void* data,
                                                                   size_t size) override;
  void drop_connection() override { client_.reset(); }

  Result<sharp::AllreduceArguments> check(const AllreduceCall& call);
  Result<sharp::AllgatherArguments> check(const AllgatherCall& call);
  Result<sharp::ReduceScatterArguments> check(const ReduceScatterCall& call);
  Status check_reduction(const char* what, int data_type, int reduce_operator);
  Status check_window(const char* what, const CallWindow& window);
  // Fills parts_.
  Status check_parts(const char* what, std::span<const CallPart> parts, const CallWindow& window);
  // How much of this rank's block lies in the window.
  size_t own_bytes(const CallWindow& window) const;

  template <typename Arguments>
  Result<CollectiveRequest*> post(const Arguments& arguments,
                                  Result<sharp::Operation*> (sharp::Client::*how)(const Arguments&),
                                  void* handle, std::span<const CallPart> parts);

  const size_t rank_;
  const size_t ranks_;
  RequestPool<CollectiveRequest> requests_;
  std::vector<sharp::Part> parts_;  // of the call that is being posted
  std::unique_ptr<sharp::Client> client_;
};

}  // namespace sluice::plugin::collnet
