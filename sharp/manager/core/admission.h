// SPDX-License-Identifier: Apache-2.0
// Admission: which job gets which trees and how much of each node, for how long.
//
// A decision looks only at the nodes near the members and at the tenant: its cost does not grow
// with the number of nodes or jobs. State is the leases; everything else is derived from them.
// A lease ends by release(), or when neither its job renews it nor a node reports its group for
// `lease_duration`. Losing its trees does not end a lease: the job goes on without them, and may
// ask for others by reform().
// Thread rule: one thread at a time. Time is passed in and never goes back. No I/O, no logging.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "sharp/manager/core/decision.h"
#include "sharp/manager/core/fabric.h"
#include "sharp/manager/core/lease.h"
#include "sharp/manager/core/lease_table.h"
#include "sharp/manager/core/node_ledger.h"
#include "sharp/manager/core/routes.h"
#include "sharp/manager/core/snapshot.h"
#include "sharp/manager/core/tenant.h"
#include "sharp/manager/core/tree_planner.h"

namespace sluice::manager {

struct AdmissionPolicy {
  Duration lease_duration = std::chrono::seconds(60);
  // After restore(): a lease that no node reports and no job renews within this time ends.
  Duration recovery_grace = std::chrono::seconds(30);
  bool preemption = true;  // more important requests may take trees from less important ones
  std::vector<TenantQuota> tenants;
};

class Admission {
 public:
  // `fabric` must outlive this. Changes to it are noticed at the next call.
  Admission(const Fabric& fabric, AdmissionPolicy policy);

  // A tenant by name, "default" if empty; one without a quota has neither reservations nor limits.
  // Too many names: all further ones are "default".
  TenantId tenant(std::string_view name);
  const std::string& tenant_name(TenantId tenant) const;

  // All trees or none. The same group asked for again by the same job gets the same answer.
  Decision admit(const Request& request, TimePoint now);
  // Other trees for a lease, without the nodes to avoid, under a new epoch. Denied: the lease stays
  // without trees.
  Decision reform(LeaseId lease, std::span<const NodeId> avoid, TimePoint now);
  bool renew(LeaseId lease, TimePoint now);
  // The group left, or a member died. false: no such lease.
  bool release(LeaseId lease);
  // Ends what was not renewed in time; to be called now and then.
  std::vector<LeaseId> expire(TimePoint now);

  const Lease* find(LeaseId lease) const { return leases_.find(lease); }
  const Lease* find(const GroupId& group) const { return leases_.find(group); }
  size_t lease_count() const { return leases_.size(); }
  template <typename Visit>
  void for_each_lease(const Visit& visit) const {
    leases_.for_each(visit);
  }
  // To be re-formed when a node drains (Fabric::set_state) or dies.
  std::vector<LeaseId> leases_on(NodeId node);
  const NodeAccount& account(NodeId node);  // capacity, use and holders

  // "no tree on rail 0: ... needs 18.0 MiB on 10.0.0.1:7654, 4.0 MiB of 64.0 MiB are free; job a
  // (tenant x) holds 40.0 MiB, ..."
  std::string sentence(const Denial& denial);

  Snapshot save() const;
  SavedLease save(const Lease& lease) const;
  // Once, on a fresh object; nodes need not have registered yet. `fabric` is the one given to the
  // constructor: nodes and hosts that it does not know are remembered there.
  Status restore(const Snapshot& snapshot, Fabric& fabric, TimePoint now);
  // All groups that run on a node, as it says when it registers and from time to time: renews their
  // leases, adopts groups that nobody knows.
  ReportOutcome report(NodeId node, std::span<const RunningGroup> groups, TimePoint now);

 private:
  struct Tenant {
    std::string name;
    uint32_t reservation = kNoReservation;
    Amounts limit{UINT32_MAX, UINT64_MAX, UINT64_MAX};
    Amounts used;  // over all nodes
  };
  class Placement;  // where a request's nodes have room

  void synchronize();
  void synchronize_routes();
  // Denials; Reason::granted: none.
  Denial check(const Request& request) const;
  Denial place(const Request& request, bool preempt);
  Denial place_with(const Request& request, Placement& placement, uint64_t window_bytes);
  Denial place_rail(const Request& request, Placement& placement, Tree& tree);
  Denial explain(const Request& request, Placement& placement, PlanFailure failure, uint8_t rail);
  Denial check_limit(const Request& request) const;
  void find_room(const Request& request, Decision& decision);
  void grant(Lease& lease, Decision& decision);
  bool evict_for_plan(const Request& request, std::vector<LeaseId>& evicted);
  Lease* victim_on(NodeId node, uint8_t priority);

  Claimant claimant_of(const Request& request) const;
  void hold(Lease& lease, NodeId node, const Amounts& amounts);
  void drop_trees(Lease& lease);
  void end(Lease& lease);
  void report_group(NodeId node, const RunningGroup& group, TimePoint now, ReportOutcome& outcome);
  Status restore_lease(const SavedLease& saved, Fabric& fabric, TimePoint now);
  std::string holders_of(const Denial& denial) const;

  const Fabric& fabric_;
  AdmissionPolicy policy_;
  std::vector<Tenant> tenants_;
  std::unordered_map<std::string, uint32_t> tenant_names_;
  NodeLedger ledger_;
  std::unique_ptr<Routes> routes_;
  uint64_t node_revision_ = 0, ledger_topology_ = 0, routes_topology_ = 0;  // as last seen
  LeaseTable leases_;
  TreePlanner planner_;
  // The plan of the request at hand: written by place(), read by grant().
  std::vector<Tree> plan_;
  std::vector<Holding> plan_holdings_;
  uint64_t plan_window_ = 0;
  std::vector<SwitchId> members_;  // of the rail at hand
  std::vector<NodeId> taken_;
};

}  // namespace sluice::manager
