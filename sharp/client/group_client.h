// SPDX-License-Identifier: Apache-2.0
// The client of a group: operations in, results out, over whatever tree the group has at the
// moment.
//
// posting.h makes operations of calls, a ChunkStream for each class runs them, a TreeLink carries
// them. The link may break and be replaced while operations are under way (recovery/hooks.h): they
// wait, and go on. Ownership: user memory belongs to an operation from the call until test() says
// done. Thread rule: as Client; the hooks may be called from one other thread at the same time.
#pragma once

#include <sys/types.h>

#include <array>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "sharp/client/agreement.h"
#include "sharp/client/chunk_stream.h"
#include "sharp/client/client.h"
#include "sharp/client/operation.h"
#include "sharp/client/recovery/hooks.h"
#include "sharp/client/tree_link.h"
#include "sharp/wire/limits.h"

namespace sluice::sharp {

class GroupClient final : public Client, public RecoverableGroup, public TreeLink::Receiver {
 public:
  GroupClient(const Logger& logger, const Plan& plan, int rank, NodeJoiner::Session session);
  ~GroupClient() override;

  // Who is told when the tree breaks, and brings another; without one a broken tree is an error.
  // Owned from here on, and destroyed before anything else of the client. Before the first
  // operation.
  void set_recovery(std::unique_ptr<TroubleListener> listener);

  // Without a recovery: holds the lease of the tree, if there is one, as long as the client lives.
  void keep_lease(std::unique_ptr<TreeSource> source) { lease_ = std::move(source); }

  Result<std::unique_ptr<transport::MemoryRegion>> register_memory(
      void* data, size_t size, transport::MemoryType type) override;
  Result<Operation*> allreduce(const AllreduceArguments& arguments) override;
  Result<Operation*> allgather(const AllgatherArguments& arguments) override;
  Result<Operation*> reduce_scatter(const ReduceScatterArguments& arguments) override;
  Result<bool> test(Operation& operation, size_t* bytes) override;
  const std::string& description() const override { return description_; }

  Standing cut_off() override;
  Status resume(NodeJoiner::Session session, const Resume& resume,
                const GroupShape& shape) override;
  bool settle() override;
  void break_off(const Error& error) override;

 private:
  ChunkStream& stream(TrafficClass traffic_class) {
    return streams_[static_cast<size_t>(traffic_class)];
  }
  template <typename Arguments>
  Result<Operation*> post(const Arguments& arguments);
  Operation* free_operation();
  Status progress();
  Status pump(TrafficClass traffic_class);
  // The way to the tree is broken: the error, unless there is somebody to mend it.
  Status on_broken(const Error& error);
  void drop_link();
  void end(const Error& error);

  Status on_result(const ChunkHeader& header, const TreeLink::Arrival& arrival) override;
  Status on_resend(TrafficClass traffic_class, uint64_t sequence) override;
  void on_sent(uint64_t token) override;

  const Logger logger_;
  const uint16_t rank_;
  const pid_t process_;  // a forked child must not speak for its parent
  std::string description_;
  std::unique_ptr<TreeSource> lease_;
  std::unique_ptr<TroubleListener> recovery_;
  std::mutex mutex_;                     // all below; nobody else wants it while the tree is sound
  TroubleListener* listener_ = nullptr;  // recovery_'s; still there while that ends
  GroupShape shape_;
  std::unique_ptr<TreeLink> link_;  // null: between two trees, or over
  std::array<Operation, kMaxResultWindows> operations_;
  uint32_t next_free_ = 0;  // where to look for a free operation
  uint64_t next_number_ = 0;
  std::array<ChunkStream, kTrafficClasses> streams_;
  Status status_;  // the end of it all
};

}  // namespace sluice::sharp
