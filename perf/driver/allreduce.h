// SPDX-License-Identifier: Apache-2.0
// The face of an allreduce algorithm over a plugin: ring_allreduce.h, in_network_allreduce.h.
//
// Thread rule: prepare() by the user's thread, run() on the communicator's progress thread.
#pragma once

#include <cstddef>

#include "base/result.h"
#include "perf/driver/communicator.h"

namespace sluice::perf {

struct AllreduceCall {
  ncclDataType_t type = ncclFloat32;
  ncclRedOp_t op = ncclSum;
  const std::byte* input = nullptr;
  std::byte* output = nullptr;  // may be the input
  size_t count = 0;
};

class Allreduce {
 public:
  virtual ~Allreduce() = default;
  virtual const char* name() const = 0;
  // Makes the memory known that later calls use; call again when it changes. The memory must
  // outlive this object: after a failure operations may still be in flight until it is closed.
  virtual Status prepare(std::byte* input, std::byte* output, size_t bytes) = 0;
  // Gives the memory back; also done by the destructor.
  virtual void release() = 0;
  // One operation, start to end.
  virtual Status run(const AllreduceCall& call) = 0;
  // Bytes handed to the plugin by this rank so far.
  virtual uint64_t bytes_handed() const = 0;
  virtual Communicator& communicator() = 0;
};

}  // namespace sluice::perf
