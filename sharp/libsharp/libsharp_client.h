// SPDX-License-Identifier: Apache-2.0
// LibsharpClient: the client of in-network reduction over NVIDIA's SHARP.
//
// An operation is one call of libsharp; several parts of a window go through a registered copy,
// because libsharp takes contiguous buffers only (host memory; NCCL always hands over one part).
// The first failure of any rank ends the group on all of them, in bounded time: libsharp itself
// would wait for ever. Operations must be posted in one order on all ranks. Thread rule: Client's.
// Memory given to an operation is the caller's and stays until test() says done.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sharp/client/client.h"
#include "sharp/libsharp/region.h"
#include "sharp/libsharp/session.h"

namespace sluice::sharp::libsharp {

class LibsharpClient final : public Client {
 public:
  // `session` has a context and a group; `capabilities` are those that all ranks have in common.
  LibsharpClient(const Logger& logger, std::shared_ptr<Session> session,
                 const Capabilities& capabilities, bool trace);
  ~LibsharpClient() override;

  // What the group can do: unlike the aggregation nodes, SHARP has limits that are known only now.
  const Capabilities& capabilities() const { return capabilities_; }

  Result<std::unique_ptr<transport::MemoryRegion>> register_memory(
      void* data, size_t size, transport::MemoryType type) override;
  Result<std::unique_ptr<transport::MemoryRegion>> register_dma_buffer(void* data, size_t size,
                                                                       transport::MemoryType type,
                                                                       const DmaBuffer& buffer);

  Result<Operation*> allreduce(const AllreduceArguments& arguments) override;
  Result<Operation*> allgather(const AllgatherArguments& arguments) override;
  Result<Operation*> reduce_scatter(const ReduceScatterArguments& arguments) override;
  Result<bool> test(Operation& operation, size_t* bytes) override;
  const std::string& description() const override { return description_; }

 private:
  struct Posted;  // what an Operation of this client is

  Result<Posted*> begin(const char* what, size_t bytes);
  void give_back(Posted& posted);
  Result<Operation*> post(Posted& posted, int status);
  Status stage(Posted& posted, std::span<const Part> parts, size_t bytes);
  Result<bool> finish(Posted& posted, size_t* bytes);
  Status look_around();
  tl::unexpected<Error> fail_for_good(Error error);

  const Logger logger_;
  const std::shared_ptr<Session> session_;
  const Capabilities capabilities_;
  const bool trace_;
  std::string description_;
  std::vector<std::unique_ptr<Posted>> pool_;
  std::vector<Posted*> free_;
  std::optional<Error> error_;
  TimePoint next_look_{};
};

}  // namespace sluice::sharp::libsharp
