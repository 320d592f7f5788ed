// SPDX-License-Identifier: Apache-2.0
// A collective as libsharp is told of it: checked arguments become its structures. Pure, but for
// the registered handles that it looks up.
//
// How windows are meant follows nccl-rdma-sharp-plugins (src/sharp_plugin.c): offsets are bytes, a
// rank's own buffer is described with the length of its whole block although it begins where the
// window does, and the gathered or scattered side with the length of the window.
#pragma once

#include <cstddef>
#include <span>

#include "sharp/client/client.h"
#include "sharp/libsharp/api.h"
#include "sharp/libsharp/mapping.h"

namespace sluice::sharp::libsharp {

// Memory of one side of a call.
struct Operand {
  void* address = nullptr;
  size_t length = 0;                                // bytes, as libsharp is told
  const transport::MemoryRegion* region = nullptr;  // null: host memory that libsharp registers
};

// How much of rank's block lies in the window.
size_t bytes_in_window(int rank, size_t bytes_per_rank, size_t window_offset, size_t window_bytes);

// What is wrong with a call; OK when nothing is.
Status check(const AllreduceArguments& arguments, const Capabilities& capabilities);
Status check(const AllgatherArguments& arguments, const Capabilities& capabilities, int rank,
             int ranks);
Status check(const ReduceScatterArguments& arguments, const Capabilities& capabilities, int rank,
             int ranks);

// Of checked arguments. `gathered` and `window`: the parts' memory, or its copy.
sharp_coll_reduce_spec spec_of(const AllreduceArguments& arguments);
sharp_coll_gather_spec spec_of(const AllgatherArguments& arguments, const Operand& gathered);
sharp_coll_reduce_spec spec_of(const ReduceScatterArguments& arguments, const Operand& window);

}  // namespace sluice::sharp::libsharp
