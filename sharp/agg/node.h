// SPDX-License-Identifier: Apache-2.0
// The aggregation node without its event loop: children, groups, admission, time limits.
//
// Whoever drives it adopts connections, activates those that have something to do, and calls
// step(). Thread rule: one thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "base/result.h"
#include "sharp/agg/child.h"
#include "sharp/agg/group.h"
#include "sharp/agg/memory_pool.h"

namespace sluice::sharp {

struct NodeLimits {
  size_t memory = size_t{1} << 30;  // bytes
  int max_groups = 64;
  int max_members = kMaxMembers;  // of one group
  Duration join_timeout = std::chrono::seconds(60);
};

// What the node is doing, for whoever manages it.
struct GroupReport {
  GroupId id{};
  uint32_t epoch = 0;
  uint16_t members = 0;  // ranks of the group, wherever they join
  std::string job;       // as the first child said; may be empty
  uint64_t reserved_bytes = 0;
  uint64_t active_bytes = 0;  // 0: idle
  TimePoint since{};          // the first join
};
struct NodeReport {
  NodeLimits limits;
  bool draining = false;
  std::vector<GroupReport> groups;  // that are not over
};

class AggregationNode final : public ChildOwner {
 public:
  AggregationNode(const Logger& logger, const NodeLimits& limits);
  ~AggregationNode();
  AggregationNode(const AggregationNode&) = delete;
  AggregationNode& operator=(const AggregationNode&) = delete;

  // Returns the child's id; it is active from the start.
  uint64_t adopt(std::unique_ptr<transport::Connection> connection);
  void activate(uint64_t child);  // unknown ids are fine: the child went meanwhile
  void activate_all();

  // Drives the active children once. True: bytes moved.
  bool step();
  // Puts the active children to rest that have been quiet for `spin`: their event fd wakes them.
  // True: none is left active.
  bool rest(Duration spin);
  // Time limits, and the end of what is over. To be called every now and then (100 ms).
  void tidy();

  struct Statistics {
    size_t groups = 0;
    size_t children = 0;
    size_t memory = 0;           // bytes lent
    uint64_t groups_formed = 0;  // since the start
    DataCounters data;
  };
  Statistics statistics() const;
  NodeReport report() const;

  // A draining node takes no new group; those that are there go on.
  void drain(bool on);
  bool draining() const { return draining_; }

  Admission admit(const Join& join) override;
  void activate(Child& child) override;

 private:
  using ChildMap = std::unordered_map<uint64_t, std::unique_ptr<Child>>;

  Admission form(const Join& join);
  std::string heaviest_user() const;
  void drop(Child& child);

  Logger logger_;
  NodeLimits limits_;
  DataCounters counters_;
  LogLimiter strangers_{20};
  MemoryPool pool_;                                   // outlives the groups
  std::map<GroupId, std::unique_ptr<Group>> groups_;  // outlive the children
  ChildMap children_;
  std::vector<Child*> active_;
  uint64_t next_child_ = 1;
  uint64_t groups_formed_ = 0;
  bool draining_ = false;
};

}  // namespace sluice::sharp
