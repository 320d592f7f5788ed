// SPDX-License-Identifier: Apache-2.0
// The client of in-network reduction: what a rank does to take part in a group on an aggregation
// node.
//
// Rank 0's Rendezvous is the meeting point: its address travels in NCCL's CollNet handle.
// Client::connect() is all-or-nothing under a deadline: capabilities, plan, join, votes, commit
// (docs/protocol.md); every rank gets the same answer, a refusal with the same reason. Afterwards
// operations are posted in the same order on every rank and run any number in flight; nothing
// blocks. Thread rule: connect() blocks (at most the connect timeout and a grace) on the thread
// that calls it; after that one thread posts and tests; memory may be registered from another.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "sharp/client/node_host.h"
#include "sharp/client/tree_spec.h"
#include "sharp/wire/membership.h"
#include "sharp/wire/types.h"
#include "transport/endpoint.h"
#include "transport/transport.h"

namespace sluice::sharp {

struct ClientSettings {
  // Rank 0's decide: a manager is asked first, the trees are for without one.
  std::vector<TreeSpec> trees;  // SLUICE_AGG, one for each rail
  int rail = 0;                 // device index; modulo the number of trees
  std::string manager;          // SLUICE_MANAGER, host:port,...; empty: there is none
  std::string job;              // SLUICE_JOB, for texts and the manager
  std::string tenant;           // SLUICE_TENANT
  int priority = 0;             // SLUICE_PRIORITY, of the job's trees; higher may preempt
  size_t chunk_bytes = size_t{64} << 10;
  int window = 16;
  size_t latency_threshold = 4096;
  Precision precision = Precision::compact;
  Verification verification = Verification::off;
  bool fallback = true;  // SLUICE_FALLBACK: finish without the tree when it dies
  // How long a node of SLUICE_AGG that was lost may take to be restarted, before it is tried again.
  Duration tree_patience = std::chrono::seconds(2);
  Duration connect_timeout = std::chrono::seconds(30);
  // Makes the nodes that ranks host in the fallback; null: there is none, a dead tree is fatal.
  std::shared_ptr<NodeHostFactory> node_hosts;
};

class Rendezvous {
 public:
  static Result<std::unique_ptr<Rendezvous>> open(transport::Context& context,
                                                  const transport::SocketAddress& bind);
  transport::ListenerAddress address() const { return listener_->address(); }
  transport::Listener& listener() { return *listener_; }

 private:
  explicit Rendezvous(std::unique_ptr<transport::Listener> listener)
      : listener_(std::move(listener)) {}
  std::unique_ptr<transport::Listener> listener_;
};

// A part of a buffer that is in several pieces.
struct Part {
  std::byte* address = nullptr;
  size_t size = 0;                                  // bytes
  const transport::MemoryRegion* region = nullptr;  // may be null
};

// One posted operation; owned by its client, valid until test() says done or the client goes.
struct Operation;

struct AllreduceArguments {
  const void* send = nullptr;
  void* receive = nullptr;  // may equal send
  size_t count = 0;         // elements
  DataType type = DataType::float32;
  ReduceOperator reduce_operator = ReduceOperator::sum;
  const transport::MemoryRegion* send_region = nullptr;
  const transport::MemoryRegion* receive_region = nullptr;
};

// The gathered vector is all ranks' blocks in the order of the ranks; a call delivers the window of
// it to every rank. Windows, parts and what `send` points to are as NCCL calls iallgather
// (src/transport/coll_net.cc: collNetRegIallgather adds windowOffset % sizePerRank to the block's
// address when the window begins inside it; collNetIallgather hands over a buffer that holds only
// what is in the window). In place: `send` is where those bytes belong in `receive`.
struct AllgatherArguments {
  const void* send = nullptr;  // the first byte of this rank's block that is in the window
  size_t bytes_per_rank = 0;
  size_t window_offset = 0;  // into the gathered vector
  size_t window_bytes = 0;
  std::span<const Part> receive;  // together the window; several cost a copy, NCCL gives one
  const transport::MemoryRegion* send_region = nullptr;
};

// The reduced vector has a block for each rank; a call reduces the window of it, and every rank
// gets what its block has in the window. As NCCL calls ireducescatter (same file): `receive` is
// for the first byte of the block that is in the window. In place: it is where that byte is in
// `send`.
struct ReduceScatterArguments {
  std::span<const Part> send;  // together the window; several cost a copy, NCCL gives one
  void* receive = nullptr;     // for the first byte of this rank's block that is in the window
  size_t bytes_per_rank = 0;   // this and the window: whole elements
  size_t window_offset = 0;    // into the vector of all blocks
  size_t window_bytes = 0;
  DataType type = DataType::float32;
  ReduceOperator reduce_operator = ReduceOperator::sum;
  const transport::MemoryRegion* receive_region = nullptr;
};

class Client {
 public:
  // handles[i] is rank i's rendezvous address; `rendezvous` is this rank's own (used by rank 0
  // only).
  static Result<std::unique_ptr<Client>> connect(
      transport::Context& context, const ClientSettings& settings,
      std::span<const transport::ListenerAddress> handles, int rank, Rendezvous& rendezvous);
  virtual ~Client() = default;  // never waits for anybody

  // What the protocol and the nodes can do; the truth for reduceSupport.
  static bool supports(DataType type, ReduceOperator reduce_operator);

  virtual Result<std::unique_ptr<transport::MemoryRegion>> register_memory(
      void* data, size_t size, transport::MemoryType type) = 0;

  // nullptr: too many in flight, try again.
  virtual Result<Operation*> allreduce(const AllreduceArguments& arguments) = 0;
  virtual Result<Operation*> allgather(const AllgatherArguments& arguments) = 0;
  virtual Result<Operation*> reduce_scatter(const ReduceScatterArguments& arguments) = 0;
  // True once the result is in place; then the operation is gone. bytes (may be null): size of the
  // result.
  virtual Result<bool> test(Operation& operation, size_t* bytes) = 0;
  // The client an operation belongs to (the C tables get a bare request pointer).
  static Client& client_of(Operation& operation);

  // "on: 8 ranks, node 10.0.0.1:7000 by tcp, chunk 64 KiB, window 16" for the communicator's line.
  virtual const std::string& description() const = 0;
};

}  // namespace sluice::sharp
