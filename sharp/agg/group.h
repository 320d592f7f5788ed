// SPDX-License-Identifier: Apache-2.0
// A group on a node: its members, from the first join to the end, and what ends it.
//
// forming -> active (all have joined) -> over (a member was lost, left too early or broke the
// rules: everybody is told why), or all members leave, which needs no words. Ownership: owns its
// memory until it goes; members' connections may write into it, so it goes after them. Thread rule:
// one thread.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "base/result.h"
#include "sharp/agg/member_port.h"
#include "sharp/agg/memory_pool.h"
#include "sharp/agg/reducer.h"
#include "sharp/wire/membership.h"

namespace sluice::sharp {

struct GroupReport;

class Group {
 public:
  Group(const Logger& logger, const GroupShape& shape, MemoryPool::Lease memory,
        Duration join_timeout, DataCounters& counters);

  const GroupShape& shape() const { return shape_; }
  size_t memory() const { return lease_.memory().size(); }
  // "group 0011aabb of 8 ranks, first from gpu07, pid 12"
  std::string description() const;
  GroupReport report() const;
  bool over() const { return over_; }
  bool deserted() const { return attached_ == 0; }  // may be destroyed

  // Why this rank may not join; nothing: it may.
  std::optional<Refused> objection_to(const Join& join) const;
  // Answers the member and announces its slots.
  Status join(const Join& join, MemberPort& port);

  void on_streaming(uint16_t rank, const ChunkHeader& header, transport::WindowId window,
                    uint64_t offset, uint64_t size);
  void on_latency(uint16_t rank, const ChunkHeader& header, std::span<const std::byte> payload);
  void on_result_window(uint16_t rank, const transport::RemoteWindow& window, uint64_t operation);
  void on_written(uint16_t rank, uint64_t token);

  void leave(uint16_t rank);
  void lose(uint16_t rank, const std::string& reason);
  // The connection goes; nothing of it is used afterwards.
  void detach(uint16_t rank);
  // Ends a group that was never completed in time.
  void check_lease();

 private:
  struct Member {
    MemberPort* port = nullptr;
    std::string host;
    bool joined = false;
    bool left = false;
  };

  bool takes_chunks(uint16_t rank);
  void settle(uint16_t rank, const Status& status);
  void end(uint16_t culprit, const std::string& sentence);
  std::string who(uint16_t rank) const;

  Logger logger_;
  GroupShape shape_;
  MemoryPool::Lease lease_;
  Duration join_timeout_;
  Deadline lease_end_;
  Reducer reducer_;
  std::vector<Member> members_;
  std::string first_host_;
  std::string job_;
  TimePoint since_ = Clock::now();
  int joined_ = 0;
  int left_ = 0;
  int attached_ = 0;
  bool over_ = false;
};

}  // namespace sluice::sharp
