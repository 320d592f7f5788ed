// SPDX-License-Identifier: Apache-2.0
// Where a request's trees go, how large its window is, and who has to make room for it.
#include <algorithm>
#include <cstring>

#include "sharp/manager/core/admission.h"
#include "sharp/wire/limits.h"
#include "sharp/wire/membership.h"

namespace sluice::manager {

namespace {

constexpr uint64_t kMostBandwidth = 1'000'000'000'000;  // of a rank; sums stay in 64 bits

}  // namespace

class Admission::Placement final : public NodeSource {
 public:
  Placement(const NodeLedger& ledger, const Request& request, const Claimant& claimant)
      : ledger_(ledger), request_(request), claimant_(claimant) {}

  void aim(uint8_t rail) { rail_ = rail; }
  void set_window(uint64_t bytes) { window_bytes_ = bytes; }
  // A slot per child and window place, and two windows of results (docs/protocol.md).
  Amounts demand(unsigned children) const {
    return {1, (children + 2) * window_bytes_ + children * request_.latency_bytes,
            children * request_.bandwidth};
  }
  bool serves(NodeId node, uint8_t roles) const {
    const NodeAccount& account = ledger_.account(node);
    return (account.rail == kAnyRail || account.rail == rail_) && (account.roles & roles) == roles;
  }

  uint32_t glance(SwitchId at, unsigned children) override {
    const Amounts wanted = demand(std::min<unsigned>(children, sharp::kMaxFanIn));
    return ledger_.glance(at, wanted, claimant_);
  }
  NodeId choose(SwitchId at, unsigned children, uint8_t roles,
                std::span<const NodeId> taken) override {
    const Amounts wanted = demand(std::min<unsigned>(children, sharp::kMaxFanIn));
    return ledger_.find(at, wanted, claimant_, [&](NodeId candidate) {
      return serves(candidate, roles) &&
             std::find(taken.begin(), taken.end(), candidate) == taken.end();
    });
  }
  bool fits(NodeId node, unsigned children, uint8_t roles) override {
    return serves(node, roles) && ledger_.fits(node, demand(children), claimant_);
  }
  unsigned fan_in(NodeId node) override { return ledger_.account(node).fan_in; }

  const Claimant& claimant() const { return claimant_; }

 private:
  const NodeLedger& ledger_;
  const Request& request_;
  const Claimant claimant_;
  uint8_t rail_ = 0;
  uint64_t window_bytes_ = 0;
};

Denial Admission::check(const Request& request) const {
  Denial denial;
  denial.tenant = request.tenant;
  uint32_t rails = 0;  // one bit each: a rail may be asked for once
  const auto bad_rail = [&rails](uint8_t rail) {
    if (rail >= kMaxRails || (rails >> rail & 1) != 0) return true;
    rails |= 1u << rail;
    return false;
  };
  const auto unknown_host = [&](HostId host) { return host.index() >= fabric_.hosts().size(); };
  const auto unknown_node = [&](NodeId node) { return node.index() >= fabric_.nodes().size(); };
  const bool sizes_good =
      request.chunk_bytes >= sharp::kMinChunkBytes &&
      request.chunk_bytes <= sharp::kMaxChunkBytes && request.window_bytes >= request.chunk_bytes &&
      request.window_bytes / request.chunk_bytes <= sharp::kMaxChunkWindow &&
      request.least_window_bytes <= request.window_bytes && request.latency_bytes <= UINT32_MAX &&
      request.bandwidth <= kMostBandwidth;
  const bool good = sizes_good && !request.members.empty() &&
                    request.members.size() <= sharp::kMaxMembers && !request.rails.empty() &&
                    request.rails.size() <= kMaxRails && request.priority < kPriorities &&
                    request.tenant.index() < tenants_.size() &&
                    std::none_of(request.rails.begin(), request.rails.end(), bad_rail) &&
                    std::none_of(request.members.begin(), request.members.end(), unknown_host) &&
                    std::none_of(request.avoid.begin(), request.avoid.end(), unknown_node);
  if (!good) denial.reason = Reason::bad_request;
  return denial;
}

// The window that is wanted; if there is no room, the largest of its halves that finds some.
Denial Admission::place(const Request& request, bool preempt) {
  Claimant claimant = claimant_of(request);
  claimant.preempt = preempt;
  Placement placement(ledger_, request, claimant);
  const uint64_t chunk = request.chunk_bytes;
  const uint64_t wanted = request.window_bytes / chunk * chunk;
  const uint64_t least = std::max((request.least_window_bytes + chunk - 1) / chunk * chunk, chunk);
  const Denial denial = place_with(request, placement, wanted);
  if (denial.reason != Reason::memory || request.least_window_bytes == 0 || least >= wanted) {
    return denial;
  }
  for (uint64_t window = wanted / 2 / chunk * chunk; window > least;
       window = window / 2 / chunk * chunk) {
    if (place_with(request, placement, window).reason == Reason::granted) return {};
  }
  return place_with(request, placement, least);
}

Denial Admission::place_with(const Request& request, Placement& placement, uint64_t window_bytes) {
  placement.set_window(window_bytes);
  plan_window_ = window_bytes;
  plan_holdings_.clear();
  plan_.resize(request.rails.size());
  for (size_t rail = 0; rail < request.rails.size(); ++rail) {
    plan_[rail].rail = request.rails[rail];
    const Denial denial = place_rail(request, placement, plan_[rail]);
    if (denial.reason != Reason::granted) return denial;
    for (const TreeNode& node : plan_[rail].nodes) {
      plan_holdings_.push_back({node.node, 0, placement.demand(node.children)});
    }
  }
  return check_limit(request);
}

Denial Admission::place_rail(const Request& request, Placement& placement, Tree& tree) {
  placement.aim(tree.rail);
  const auto switches = fabric_.attachments(tree.rail);
  members_.resize(request.members.size());
  for (size_t rank = 0; rank < members_.size(); ++rank) {
    members_[rank] = switches[request.members[rank].index()];
    if (!members_[rank].valid()) {
      return {Reason::no_path, tree.rail, {}, {}, request.members[rank], request.tenant};
    }
  }
  // A group is on a node once: its trees share none.
  taken_.assign(request.avoid.begin(), request.avoid.end());
  for (const Holding& holding : plan_holdings_) taken_.push_back(holding.node);
  uint32_t spread = 0;
  std::memcpy(&spread, request.group.data(), sizeof(spread));
  const TreePlanner::Task task{members_, taken_, spread};
  const PlanFailure failure = planner_.plan(*routes_, task, placement, tree);
  if (failure == PlanFailure::none) return {};
  return explain(request, placement, failure, tree.rail);
}

// The nearest node that could serve at all is the one whose lack is reported.
Denial Admission::explain(const Request& request, Placement& placement, PlanFailure failure,
                          uint8_t rail) {
  Denial denial{Reason::no_path, rail, {}, planner_.failed_near(), {}, request.tenant};
  const SwitchId near = denial.near;
  if (failure == PlanFailure::no_path) {
    const auto at = std::find(members_.begin(), members_.end(), near);
    denial.member = request.members[static_cast<size_t>(at - members_.begin())];
    if (routes_->near(near).empty()) denial.reason = Reason::no_nodes;
    return denial;
  }
  if (failure == PlanFailure::too_many) {
    denial.reason = Reason::too_many_members;
    return denial;
  }
  const Claimant anybody{kNoReservation, kPriorities - 1, false, true};
  for (const SwitchId site : routes_->near(near)) {
    denial.node = ledger_.find(site, {}, anybody, [&](NodeId node) {
      return placement.serves(node, 0) &&
             std::find(taken_.begin(), taken_.end(), node) == taken_.end();
    });
    if (denial.node.valid()) break;
  }
  denial.reason = Reason::no_nodes;
  if (!denial.node.valid()) return denial;
  const NodeAccount& account = ledger_.account(denial.node);
  denial.wanted =
      placement.demand(std::min<unsigned>(planner_.failed_children(), sharp::kMaxFanIn));
  denial.available = ledger_.available(denial.node, placement.claimant());
  const Amounts& wanted = denial.wanted;
  const Amounts room = less(account.capacity, account.used);
  if (account.used.groups != 0 && (request.exclusive || account.exclusive)) {
    denial.reason = Reason::exclusive;
  } else if (wanted.fits_into(room)) {
    denial.reason = Reason::reserved;
  } else if (wanted.groups > room.groups) {
    denial.reason = Reason::groups;
  } else {
    denial.reason = wanted.memory > room.memory ? Reason::memory : Reason::bandwidth;
  }
  return denial;
}

Denial Admission::check_limit(const Request& request) const {
  const Tenant& tenant = tenants_[request.tenant.index()];
  Amounts sum = tenant.used;
  for (const Holding& holding : plan_holdings_) sum += holding.amounts;
  if (sum.fits_into(tenant.limit)) return {};
  Denial denial;
  denial.reason = Reason::tenant_limit;
  denial.tenant = request.tenant;
  denial.wanted = less(sum, tenant.used);
  denial.available = less(tenant.limit, tenant.used);
  return denial;
}

// Takes trees from less important leases until the plan has room; the plan was made with theirs
// counted as free. false: it turned out otherwise.
bool Admission::evict_for_plan(const Request& request, std::vector<LeaseId>& evicted) {
  const Claimant claimant = claimant_of(request);
  for (const Holding& holding : plan_holdings_) {
    while (!ledger_.fits(holding.node, holding.amounts, claimant)) {
      Lease* victim = victim_on(holding.node, request.priority);
      if (victim == nullptr) return false;
      drop_trees(*victim);
      evicted.push_back(victim->id);
    }
  }
  return true;
}

// The least important; among equals the youngest, which has done least.
Lease* Admission::victim_on(NodeId node, uint8_t priority) {
  Lease* victim = nullptr;
  for (const uint32_t share : ledger_.account(node).shares) {
    Lease& lease = leases_.at_slot(ledger_.share(share).slot);
    const uint8_t its = lease.request.priority;
    if (its >= priority || claimant_of(lease.request).reservation != kNoReservation) continue;
    if (victim == nullptr || its < victim->request.priority ||
        (its == victim->request.priority && lease.id.generation > victim->id.generation)) {
      victim = &lease;
    }
  }
  return victim;
}

}  // namespace sluice::manager
