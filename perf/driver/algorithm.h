// SPDX-License-Identifier: Apache-2.0
// The collectives that are measured, and the face of an algorithm for them over a plugin: ring.h,
// in_network.h.
//
// All three work on one vector of `count` elements: an allreduce reduces all of it; in an allgather
// rank r contributes block r of it, in a reduce-scatter rank r gets block r of the reduction, the
// blocks being equal. Thread rule: prepare() by the user's thread, run() on the communicator's
// progress thread.
#pragma once

#include <cstddef>

#include "base/result.h"
#include "perf/driver/communicator.h"

namespace sluice::perf {

enum class Collective { allreduce, allgather, reduce_scatter };

const char* name_of(Collective collective);

struct CollectiveCall {
  Collective collective = Collective::allreduce;
  ncclDataType_t type = ncclFloat32;
  ncclRedOp_t op = ncclSum;
  const std::byte* input = nullptr;  // allgather: the own block only
  std::byte* output = nullptr;       // reduce-scatter: the own block only; may lie in the input
  size_t count = 0;                  // elements of the whole vector

  size_t block(int ranks) const { return count / static_cast<size_t>(ranks); }
};

class Algorithm {
 public:
  virtual ~Algorithm() = default;
  virtual const char* name() const = 0;
  // Makes the memory known that later calls use; call again when it changes. The memory must
  // outlive this object: after a failure operations may still be in flight until it is closed.
  virtual Status prepare(std::byte* input, std::byte* output, size_t bytes) = 0;
  // Gives the memory back; also done by the destructor.
  virtual void release() = 0;
  // A sentence when the plugin cannot do it.
  virtual Status supports(Collective collective, ncclDataType_t type, ncclRedOp_t op) = 0;
  // One operation, start to end.
  virtual Status run(const CollectiveCall& call) = 0;
  // Bytes handed to the plugin by this rank so far.
  virtual uint64_t bytes_handed() const = 0;
  virtual Communicator& communicator() = 0;
};

}  // namespace sluice::perf
