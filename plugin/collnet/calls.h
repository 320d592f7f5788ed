// SPDX-License-Identifier: Apache-2.0
// What NCCL asks of a collective connection, in one form for all API versions; sizes are bytes
// unless said otherwise.
//
// Windows, from NCCL 2.30, src/transport/coll_net.cc (collNetIallgather, collNetIreducescatter and
// their registered variants): all ranks' blocks of `bytes_per_rank` form one vector in the order of
// the ranks; a call works on [window_offset, window_offset + window_bytes) of it. The parts
// together are the window. A rank's own pointer (`send` of an allgather, `receive` of a
// reduce-scatter) is the place of the first byte of its block that lies in the window; it means
// nothing when there is none.
#pragma once

#include <cstddef>
#include <span>

namespace sluice::plugin::collnet {

struct AllreduceCall {
  const void* send = nullptr;
  void* receive = nullptr;
  size_t count = 0;  // elements
  int data_type = 0;
  int reduce_operator = 0;
  void* send_handle = nullptr;
  void* receive_handle = nullptr;
};

struct CallPart {
  void* handle = nullptr;
  void* address = nullptr;
  size_t size = 0;
};

struct CallWindow {
  size_t bytes_per_rank = 0;
  size_t offset = 0;
  size_t bytes = 0;
};

struct AllgatherCall {
  const void* send = nullptr;
  std::span<const CallPart> receive;
  CallWindow window;
  void* send_handle = nullptr;
};

struct ReduceScatterCall {
  std::span<const CallPart> send;
  void* receive = nullptr;
  CallWindow window;
  int data_type = 0;
  int reduce_operator = 0;
  void* receive_handle = nullptr;
};

}  // namespace sluice::plugin::collnet
