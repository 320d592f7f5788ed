// SPDX-License-Identifier: Apache-2.0
// The test plugin's insides: the simplest net and CollNet over TCP on 127.0.0.1 that obey NCCL's
// contract.
//
// Environment: TEST_PLUGIN_DEVICES (number of devices, default 1), TEST_PLUGIN_CORRUPT (flip one
// bit of every 1000th receive and of every CollNet result), TEST_PLUGIN_HANG (test() never
// returns). Thread rule: as NCCL's, one thread per comm.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "plugin/abi/nccl_types.h"
#include "tests/perf/rig/stream.h"

namespace sluice::test {

struct RigHandle {
  uint32_t magic;
  uint16_t port;
};

class RigListener {
 public:
  static RigListener* open(RigHandle* handle);  // nullptr on failure
  ~RigListener() { ::close(fd_); }
  int accept();  // a descriptor, or -1

 private:
  explicit RigListener(int fd) : fd_(fd) {}
  int fd_;
};

int rig_connect(const RigHandle& handle);  // a descriptor, or -1

// A request of any kind, what test() gets.
struct RigRequest {
  virtual ~RigRequest() = default;
  virtual ncclResult_t test(int* done, int* sizes) = 0;
};

// One direction of a net connection.
class RigComm {
 public:
  explicit RigComm(int fd) : stream_(fd) {}
  RigRequest* send(const void* data, size_t size);
  RigRequest* receive(void* data, size_t size);

 private:
  struct Send;
  struct Receive;
  Stream stream_;
  std::deque<Receive*> receives_;
};

// A CollNet comm: a star around rank 0, which reduces in rank order.
class RigGroup {
 public:
  static RigGroup* connect(void** handles, int ranks, int rank, RigListener* listener);
  RigRequest* allreduce(const void* send, void* receive, size_t count, ncclDataType_t type,
                        ncclRedOp_t op);
  // Windows of the vector of all ranks' blocks, bytes. Both are an allreduce of the window: a
  // gather of zeros around the own bytes, a scatter from which a rank takes its own.
  RigRequest* allgather(const void* send, void* receive, size_t bytes_per_rank, size_t offset,
                        size_t bytes);
  RigRequest* reduce_scatter(const void* send, void* receive, size_t bytes_per_rank, size_t offset,
                             size_t bytes, ncclDataType_t type, ncclRedOp_t op);

 private:
  struct Own {  // what of the own block is in a window: where in the window, and how much
    size_t begin = 0;
    size_t size = 0;
  };
  Own own_part(size_t bytes_per_rank, size_t offset, size_t bytes) const;
  struct Operation;
  std::vector<std::unique_ptr<Stream>> peers_;  // rank 0: one for each other rank, in order
  size_t rank_ = 0;
};

int device_count();
bool hangs();

}  // namespace sluice::test
