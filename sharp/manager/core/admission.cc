// SPDX-License-Identifier: Apache-2.0
// Leases: how they come, change and end. Where their trees go: admission_placement.cc; the restart:
// admission_recovery.cc; sentences: denial_text.cc.
#include "sharp/manager/core/admission.h"

#include <algorithm>
#include <utility>

namespace sluice::manager {

namespace {

constexpr size_t kMostTenants = 1 << 16;  // names come from outside

std::vector<Amounts> reservations_of(const AdmissionPolicy& policy) {
  std::vector<Amounts> reservations;
  for (const TenantQuota& quota : policy.tenants) {
    if (quota.reserved_per_node != Amounts{}) reservations.push_back(quota.reserved_per_node);
  }
  return reservations;
}

}  // namespace

Admission::Admission(const Fabric& fabric, AdmissionPolicy policy)
    : fabric_(fabric), policy_(std::move(policy)), ledger_(reservations_of(policy_)) {
  tenant("default");
  uint32_t reservations = 0;
  for (const TenantQuota& quota : policy_.tenants) {
    Tenant& entry = tenants_[tenant(quota.tenant).index()];
    entry.limit = quota.limit;
    if (quota.reserved_per_node != Amounts{}) entry.reservation = reservations++;
  }
}

TenantId Admission::tenant(std::string_view name) {
  const std::string key(name.empty() ? "default" : name);
  const auto known = tenant_names_.find(key);
  if (known != tenant_names_.end()) return TenantId{known->second};
  if (tenants_.size() >= kMostTenants) return TenantId{0};
  tenant_names_.emplace(key, static_cast<uint32_t>(tenants_.size()));
  tenants_.push_back({key});
  return TenantId{static_cast<uint32_t>(tenants_.size() - 1)};
}

const std::string& Admission::tenant_name(TenantId tenant) const {
  return tenants_[tenant.index()].name;
}

void Admission::synchronize() {
  if (node_revision_ == fabric_.node_revision() &&
      ledger_topology_ == fabric_.topology_revision()) {
    return;
  }
  node_revision_ = fabric_.node_revision();
  ledger_topology_ = fabric_.topology_revision();
  ledger_.synchronize(fabric_);
}

// Ways cost more to compute than accounts, and only placing needs them: nodes that register one
// after the other, with nobody asking in between, cost it once.
void Admission::synchronize_routes() {
  synchronize();
  if (routes_topology_ == fabric_.topology_revision()) return;
  routes_topology_ = fabric_.topology_revision();
  routes_ = std::make_unique<Routes>(fabric_);
}

Decision Admission::admit(const Request& request, TimePoint now) {
  synchronize_routes();
  Decision decision;
  decision.denial = check(request);
  if (decision.denial.reason != Reason::granted) return decision;
  Lease* lease = leases_.find(request.group);
  if (lease != nullptr) {
    if (lease->request.job != request.job || lease->request.tenant != request.tenant) {
      decision.denial.reason = Reason::duplicate_group;
      return decision;
    }
    leases_.touch(*lease, now + policy_.lease_duration);
    if (lease->has_trees() && !lease->adopted) {
      decision.lease = lease->id;
      return decision;
    }
    drop_trees(*lease);
    ++lease->epoch;
  }
  find_room(request, decision);
  if (decision.denial.reason != Reason::granted) return decision;
  if (lease == nullptr) {
    lease = &leases_.add(request.group);
    lease->expires = now + policy_.lease_duration;
  }
  lease->request = request;
  grant(*lease, decision);
  return decision;
}

Decision Admission::reform(LeaseId id, std::span<const NodeId> avoid, TimePoint now) {
  synchronize_routes();
  Decision decision;
  Lease* lease = leases_.find(id);
  if (lease == nullptr || lease->request.members.empty()) {
    decision.denial.reason = Reason::unknown_lease;
    return decision;
  }
  drop_trees(*lease);
  ++lease->epoch;
  leases_.touch(*lease, now + policy_.lease_duration);
  // A group that runs cannot take a smaller window than it has.
  if (lease->window_bytes != 0) lease->request.least_window_bytes = lease->window_bytes;
  lease->request.avoid.assign(avoid.begin(), avoid.end());
  decision.denial = check(lease->request);
  if (decision.denial.reason == Reason::granted) find_room(lease->request, decision);
  if (decision.denial.reason == Reason::granted) grant(*lease, decision);
  return decision;
}

// Plans the trees; makes room for them where that is allowed.
void Admission::find_room(const Request& request, Decision& decision) {
  decision.denial = place(request, false);
  if (decision.denial.reason != Reason::granted && policy_.preemption && request.priority > 0 &&
      place(request, true).reason == Reason::granted &&
      evict_for_plan(request, decision.preempted)) {
    decision.denial = {};
  }
}

// Gives the lease, which has no trees, those that find_room() planned.
void Admission::grant(Lease& lease, Decision& decision) {
  lease.adopted = false;
  lease.window_bytes = plan_window_;
  std::swap(lease.trees, plan_);
  for (const Holding& holding : plan_holdings_) hold(lease, holding.node, holding.amounts);
  decision.lease = lease.id;
}

bool Admission::renew(LeaseId id, TimePoint now) {
  Lease* lease = leases_.find(id);
  if (lease == nullptr) return false;
  leases_.touch(*lease, now + policy_.lease_duration);
  return true;
}

bool Admission::release(LeaseId id) {
  Lease* lease = leases_.find(id);
  if (lease == nullptr) return false;
  end(*lease);
  return true;
}

std::vector<LeaseId> Admission::expire(TimePoint now) {
  std::vector<LeaseId> ended;
  for (Lease* lease = leases_.oldest(); lease != nullptr && lease->expires <= now;
       lease = leases_.oldest()) {
    ended.push_back(lease->id);
    end(*lease);
  }
  return ended;
}

std::vector<LeaseId> Admission::leases_on(NodeId node) {
  synchronize();
  std::vector<LeaseId> found;
  for (const uint32_t share : ledger_.account(node).shares) {
    found.push_back(leases_.at_slot(ledger_.share(share).slot).id);
  }
  std::sort(found.begin(), found.end());
  return found;
}

const NodeAccount& Admission::account(NodeId node) {
  synchronize();
  return ledger_.account(node);
}

Claimant Admission::claimant_of(const Request& request) const {
  return {tenants_[request.tenant.index()].reservation, request.priority, request.exclusive, false};
}

void Admission::hold(Lease& lease, NodeId node, const Amounts& amounts) {
  const auto place = static_cast<uint32_t>(lease.holdings.size());
  const uint32_t share =
      ledger_.hold(node, amounts, claimant_of(lease.request), lease.id.slot, place);
  lease.holdings.push_back({node, share, amounts});
  tenants_[lease.request.tenant.index()].used += amounts;
}

void Admission::drop_trees(Lease& lease) {
  const Claimant claimant = claimant_of(lease.request);
  for (const Holding& holding : lease.holdings) {
    tenants_[lease.request.tenant.index()].used -= holding.amounts;
    ledger_.let_go(holding.node, holding.share, holding.amounts, claimant);
  }
  lease.holdings.clear();
  for (Tree& tree : lease.trees) tree.clear();  // their memory is used again
}

void Admission::end(Lease& lease) {
  synchronize();
  drop_trees(lease);
  leases_.remove(lease);
}

}  // namespace sluice::manager
