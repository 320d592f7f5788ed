// SPDX-License-Identifier: Apache-2.0
// InNetwork: iallreduce, iallgather and ireducescatter on registered user buffers, as NCCL does
// with one rank per node.
#pragma once

#include <memory>
#include <span>

#include "perf/driver/algorithm.h"
#include "perf/driver/collective_link.h"
#include "perf/driver/peer_link.h"

namespace sluice::perf {

class InNetwork final : public Algorithm {
 public:
  static Result<std::unique_ptr<InNetwork>> connect(Communicator& communicator);

  const char* name() const override { return "innetwork"; }
  Status prepare(std::byte* input, std::byte* output, size_t bytes) override;
  void release() override;
  Status supports(Collective collective, ncclDataType_t type, ncclRedOp_t op) override;
  // An operation above the plugin's limit goes as several calls at once.
  Status run(const CollectiveCall& call) override { return run_all(std::span(&call, 1)); }
  // Several operations, up to 8 calls in flight.
  Status run_all(std::span<const CollectiveCall> operations);
  uint64_t bytes_handed() const override;
  Communicator& communicator() override { return link_.communicator(); }

 private:
  static constexpr size_t kMostCalls = 8;  // in flight

  class Flight;

  explicit InNetwork(CollectiveLink link) : link_(std::move(link)) {}
  size_t most_elements(size_t element_bytes) const;
  // The elements [first, first + count) of the operation's vector.
  Status start(const CollectiveCall& call, size_t first, size_t count, void** request);
  ncclResult_t start_window(const CollectiveCall& call, size_t first, size_t count, void** request);

  CollectiveLink link_;
  std::unique_ptr<Registration> input_region_;  // after the link: given back before it
  std::unique_ptr<Registration> output_region_;
};

}  // namespace sluice::perf
