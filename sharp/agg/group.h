// SPDX-License-Identifier: Apache-2.0
// A group on a node: its children, its parent, from the first join to the end, and what ends it.
//
// forming (children join) -> joining (this node joins its parent; not at the root) -> active (the
// whole tree stands) -> over: a child or the parent was lost, left too early or broke the rules,
// and everybody is told why, above and below; or all children have left, which needs no words.
// Ownership: owns its memory until it goes; children's connections may write into it, so it goes
// after them. Thread rule: one thread.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "base/result.h"
#include "sharp/agg/child_port.h"
#include "sharp/agg/data_path.h"
#include "sharp/agg/memory_pool.h"
#include "sharp/agg/upstream.h"
#include "sharp/wire/membership.h"

namespace sluice::sharp {

struct GroupReport;

// The way to a parent node; for tests, any way.
class ParentDialer {
 public:
  virtual ~ParentDialer() = default;
  virtual Result<std::unique_ptr<transport::Connector>> dial(const std::string& node) = 0;
};

// What a group has from its node. All of it outlives the group.
struct GroupEnvironment {
  const Logger& logger;
  LinkOwner& loop;
  ParentDialer& dialer;
  DataCounters& counters;
  Faults& faults;
  Duration join_timeout{};
  Duration idle_after{};   // without a chunk: the memory goes back
  Duration memory_wait{};  // for memory, before the group is given up
};

class Group final : public DataPathOwner, public UpstreamOwner {
 public:
  Group(const GroupEnvironment& environment, const Join& first, MemoryPool::Reservation memory);
  ~Group();

  static uint64_t memory_for(const Join& join);

  const GroupShape& shape() const { return shape_; }
  size_t memory() const { return memory_.memory().size(); }
  bool is_active() const { return memory_.active(); }
  // "group 0011aabb of 8 ranks, first from gpu07, pid 12"
  std::string description() const;
  GroupReport report() const;
  bool over() const { return state_ == State::over; }
  bool deserted() const;  // may be destroyed
  bool quiet() const { return over() || data_.quiet(); }
  Link* upstream() { return upstream_.get(); }
  bool connecting() const { return upstream_ != nullptr && upstream_->connecting(); }

  // Why this child may not join; nothing: it may.
  std::optional<Refused> objection_to(const Join& join) const;
  // Announces the child's slots, and answers all when the last one has come.
  Status join(const Join& join, ChildPort& port);
  // The node wants no more of it: all are told why.
  void expel(const std::string& sentence) { end(kNoMember, sentence); }

  // Whether a child's connection may be read: not while there is no memory for what it brings.
  bool may_read(bool something_has_come);
  // Since when it waits for memory.
  std::optional<TimePoint> hungry_since() const { return hungry_since_; }
  // Tries again. True: its children may be read.
  bool feed();

  void on_written_chunk(uint16_t child, const ChunkHeader& header, const WrittenAt& at);
  void on_message_chunk(uint16_t child, const ChunkHeader& header,
                        std::span<const std::byte> payload);
  void on_window(uint16_t child, const transport::RemoteWindow& window, uint64_t operation);
  void on_node_window(uint16_t child, const transport::RemoteWindow& window);
  void on_resend(uint16_t child, const Resend& resend);
  void on_confirmed(uint64_t token) override;

  void leave(uint16_t child);
  void lose(uint16_t child, const std::string& reason);
  // A node below has ended the group.
  void on_child_ended(const GroupError& error);
  // The connection goes; nothing of it is used afterwards.
  void detach(uint16_t child);
  // Time limits; gives memory back. `who_has_it`: for the sentence when memory ran out.
  void tidy(const std::string& who_has_it);

 private:
  enum class State { forming, joining, active, over };
  struct Seat {
    ChildPort* port = nullptr;
    bool joined = false;
    bool left = false;
  };

  const Hop* parent() const { return path_.size() > 1 ? &path_[1] : nullptr; }
  bool takes_chunks(uint16_t child);
  void complete();
  void call_parent();
  void stand();
  void check_time();
  uint16_t children() const { return static_cast<uint16_t>(seats_.size()); }
  std::string missing() const;
  void end(uint16_t culprit, const std::string& sentence);
  void refuse(const std::string& sentence);
  void finish(const Message& last_words);

  void child_failed(uint16_t child, const std::string& sentence) override;
  void children_disagree(uint16_t child, const std::string& sentence) override;
  void parent_failed(const std::string& sentence) override;
  void on_parent_joined() override;
  void on_parent_refused(const Refused& refused) override;
  void on_parent_ended(const GroupError& error) override;
  void on_parent_lost(const std::string& reason) override;
  void on_written_result(const ChunkHeader& header, const WrittenAt& at) override;
  void on_message_result(const ChunkHeader& header, std::span<const std::byte> payload) override;
  void on_parent_resend(const Resend& resend) override;

  const GroupEnvironment environment_;
  const GroupShape shape_;
  const Path path_;  // of the first child; from the second hop on the same for all
  const std::string job_;
  const std::string token_;
  const std::string first_host_;
  const SlotLayout layout_;
  const TimePoint since_ = Clock::now();
  State state_ = State::forming;
  Deadline time_limit_;  // of the state
  MemoryPool::Reservation memory_;
  std::vector<ChildInfo> children_;
  std::vector<Seat> seats_;
  DataPath data_;
  std::unique_ptr<Upstream> upstream_;  // writes into the memory: goes before it
  std::vector<RankRange> ranks_;        // of all children that have joined
  int joined_ = 0;
  int left_ = 0;
  int attached_ = 0;
  std::optional<TimePoint> hungry_since_;
  uint64_t seen_activity_ = 0;
  TimePoint last_activity_{};
};

}  // namespace sluice::sharp
