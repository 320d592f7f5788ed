// SPDX-License-Identifier: Apache-2.0
// A rank's data path in a group: operations in, chunks to the node's slots, results into the
// receive buffers.
//
// Each class has its own queue of operations, its own sequence and window. Chunk n may go when the
// result of chunk n-W has come: the window is all the flow control there is, and it proves to the
// node that slot n mod W is free. An operation of the streaming class announces its receive buffer
// before its first chunk, and the node writes the results there; in place that is safe because a
// result cannot come before its own chunk was read by the node, and all other chunks have other
// places. Ownership: user memory belongs to an operation from allreduce() until test() says done.
// Thread rule: as Client.
#pragma once

#include <sys/types.h>

#include <array>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "sharp/client/agreement.h"
#include "sharp/client/client.h"
#include "sharp/client/operation.h"
#include "sharp/wire/limits.h"

namespace sluice::sharp {

class GroupClient final : public Client, private transport::ConnectionHandler {
 public:
  GroupClient(const Logger& logger, const Plan& plan, int rank, NodeJoiner::Session session);
  ~GroupClient() override;

  Result<std::unique_ptr<transport::MemoryRegion>> register_memory(
      void* data, size_t size, transport::MemoryType type) override;
  Result<Operation*> allreduce(const AllreduceArguments& arguments) override;
  Result<Operation*> allgather(const AllgatherArguments& arguments) override;
  Result<Operation*> reduce_scatter(const ReduceScatterArguments& arguments) override;
  Result<bool> test(Operation& operation, size_t* bytes) override;
  const std::string& description() const override { return description_; }

 private:
  // Which chunk a place of the window is waiting for.
  struct InFlight {
    Operation* operation = nullptr;  // null: the place is free
    uint64_t sequence = 0;
    uint64_t chunk = 0;
  };
  struct Stream {
    uint64_t next_sequence = 0;
    std::vector<InFlight> window;
    std::deque<Operation*> queue;  // those with chunks to send, oldest first
  };

  Stream& stream(TrafficClass traffic_class) {
    return streams_[static_cast<size_t>(traffic_class)];
  }
  Operation* free_operation();
  Status progress();
  Status pump(TrafficClass traffic_class);
  Status send_chunk(Operation& operation, uint64_t sequence);
  Status announce_result(const Operation& operation);
  // The place of the window that `header` is the result for; an error if there is none.
  Result<InFlight*> match(const ChunkHeader& header, TrafficClass traffic_class);
  void complete(InFlight& place);
  Status break_off(const Error& error);

  Status on_announcement(std::span<const transport::RemoteWindow> windows,
                         std::span<const std::byte> note) override;
  Status on_message(std::span<const std::byte> message) override;
  Status on_arrival(transport::WindowId window, uint64_t offset, uint64_t size,
                    std::span<const std::byte> record) override;
  Status on_written(uint64_t token) override;

  const Logger logger_;
  const GroupShape shape_;
  const std::string node_;
  const uint16_t rank_;
  const pid_t process_;  // a forked child must not speak for its parent
  std::unique_ptr<transport::Connection> connection_;
  const transport::RemoteWindow slots_;
  std::string description_;
  std::array<Operation, kMaxResultWindows> operations_;
  uint32_t next_free_ = 0;  // where to look for a free operation
  uint64_t next_operation_ = 0;
  std::array<Stream, kTrafficClasses> streams_;
  Status status_;           // the first error
  std::string last_words_;  // of the node about the end of the group
};

}  // namespace sluice::sharp
