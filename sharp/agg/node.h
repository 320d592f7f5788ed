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
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "base/result.h"
#include "sharp/agg/child.h"
#include "sharp/agg/faults.h"
#include "sharp/agg/group.h"
#include "sharp/agg/link.h"
#include "sharp/agg/memory_pool.h"

namespace sluice::sharp {

struct NodeLimits {
  size_t memory = size_t{1} << 30;  // bytes of all active groups
  size_t memory_reserved = 0;       // bytes of all groups, active or not; 0: 16 x memory
  int max_groups = 1024;
  int max_members = kMaxMembers;  // ranks of one group
  Duration join_timeout = std::chrono::seconds(60);
  Duration idle_after = std::chrono::seconds(1);    // without a chunk a group owns no memory
  Duration memory_wait = std::chrono::seconds(30);  // of a group that wants its memory again
  FaultPlan faults;                                 // test builds only
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

class AggregationNode final : public LinkOwner, public Admitter {
 public:
  // `dialer` and `events` outlive the node. Without events (null) all links must be activated by
  // hand.
  AggregationNode(const Logger& logger, const NodeLimits& limits, ParentDialer& dialer,
                  EventSource* events = nullptr);
  ~AggregationNode();
  AggregationNode(const AggregationNode&) = delete;
  AggregationNode& operator=(const AggregationNode&) = delete;

  // A connection from below; it is active from the start.
  void adopt(std::unique_ptr<transport::Connection> connection);
  // Its medium has something. Unknown ids are fine: the link went meanwhile.
  void on_event(uint64_t link);
  void activate_all();

  // Drives the active links once. True: bytes moved.
  bool step();
  // Puts the active links to rest that have been quiet for `spin`: their events wake them. True:
  // none is left active.
  bool rest(Duration spin);
  // A link is being set up: activate_all() is due within a millisecond.
  bool connecting() const;
  // Time limits, and the end of what is over. To be called every now and then (100 ms).
  void tidy();

  struct Statistics {
    size_t groups = 0;
    size_t children = 0;
    size_t active_memory = 0;    // bytes that groups own,
    size_t reserved_memory = 0;  // and that they may come to own
    uint64_t groups_formed = 0;  // since the start
    DataCounters data;
  };
  Statistics statistics() const;
  NodeReport report() const;
  // No group has anything under way.
  bool quiet() const;

  // A draining node takes no new group; those that are there go on.
  void drain(bool on);
  bool draining() const { return draining_; }
  // Ends what runs of the group, up to this epoch: by order of the manager.
  void end_group(const GroupId& group, uint32_t last_epoch, const std::string& sentence);

 private:
  using GroupKey = std::pair<GroupId, uint32_t>;  // with its epoch
  using GroupMap = std::map<GroupKey, std::unique_ptr<Group>>;

  void activate(Link& link) override;
  void watch(Link& link) override;
  Admission admit(const Join& join) override;

  void enlist(Link& link);
  void strike(Link& link);
  void pause(Link& link, bool on);
  bool drive(Link& link);
  void feed_hungry();
  std::optional<Refused> objection_to_new(const Join& join) const;
  Admission form(const Join& join);
  std::string heaviest_user() const;

  const Logger logger_;
  const NodeLimits limits_;
  EventSource* const events_;
  DataCounters counters_;
  Faults faults_;
  LogLimiter strangers_{20};
  MemoryPool pool_;  // outlives the groups
  const GroupEnvironment environment_;
  GroupMap groups_;  // outlive the children
  std::unordered_map<uint64_t, std::unique_ptr<Child>> children_;
  std::unordered_map<uint64_t, Link*> links_;  // children, and parents of groups
  std::vector<Link*> active_;
  uint64_t next_link_ = 1;
  uint64_t groups_formed_ = 0;
  bool draining_ = false;
};

}  // namespace sluice::sharp
