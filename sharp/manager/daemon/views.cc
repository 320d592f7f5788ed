// SPDX-License-Identifier: Apache-2.0
// What the manager shows of itself to people and schedulers.
#include <algorithm>
#include <tuple>

#include "base/version.h"
#include "sharp/manager/daemon/manager.h"

namespace sluice::manager {
namespace {

// "0-3,8"
std::string ranks_below(const Tree& tree, size_t place) {
  std::string text;
  const size_t ranks = tree.leaf_of_rank.size();
  for (size_t first = 0; first < ranks; ++first) {
    if (tree.leaf_of_rank[first] != place) continue;
    size_t last = first;
    while (last + 1 < ranks && tree.leaf_of_rank[last + 1] == place) ++last;
    if (!text.empty()) text += ",";
    text += std::to_string(first);
    if (last != first) text.append("-").append(std::to_string(last));
    first = last;
  }
  return text;
}

std::string state_of(const Lease& lease, const ClientDesk::Client* client) {
  if (lease.adopted) return "adopted";
  if (!lease.has_trees()) return "fallback";
  return client != nullptr && !client->revoked.empty() ? "moving" : "tree";
}

}  // namespace

NodeRow Manager::row_of(NodeId node) {
  const Node& known = fabric_.node(node);
  const NodeAccount& account = admission_.account(node);
  NodeRow row;
  row.address = known.description.address;
  row.at = known.at.valid() ? fabric_.name_of(known.at) : "";
  row.state = name_of(known.state);
  row.groups = account.used.groups;
  row.most_groups = account.capacity.groups;
  row.memory = account.used.memory;
  row.most_memory = account.capacity.memory;
  row.bandwidth = account.used.bandwidth;
  row.most_bandwidth = account.capacity.bandwidth;
  if (const NodeDesk::Station* station = nodes_.find(node)) {
    row.name = station->name;
    row.connected = station->peer != 0;
    row.reported_groups = static_cast<uint32_t>(station->groups.size());
  }
  return row;
}

StatusReport Manager::status() {
  StatusReport report;
  report.version = kVersion;
  report.address = settings_.address;
  report.uptime = in_seconds(Clock::now() - start_);
  report.state_file = settings_.state_file;
  report.leases = static_cast<uint32_t>(admission_.lease_count());
  admission_.for_each_lease([&](const Lease& lease) {
    if (!lease.has_trees()) ++report.leases_without_tree;
  });
  const ClientDesk::Counts& counts = clients_.counts();
  report.granted = counts.granted;
  report.denied = counts.denied;
  report.preempted = counts.preempted;
  report.released = counts.released;
  report.expired = counts.expired;
  for (uint32_t node = 0; node < fabric_.nodes().size(); ++node) {
    report.nodes.push_back(row_of(NodeId{node}));
  }
  return report;
}

JobRow Manager::row_of(const Lease& lease, TimePoint now) const {
  const ClientDesk::Client* client = clients_.find(lease.id);
  JobRow row;
  row.job = lease.request.job;
  row.tenant = admission_.tenant_name(lease.request.tenant);
  row.priority = lease.request.priority;
  row.lease = lease.id.number();
  row.group = sharp::text_of(lease.request.group);
  row.ranks = static_cast<uint32_t>(lease.request.members.size());
  row.state = state_of(lease, client);
  row.nodes = static_cast<uint32_t>(lease.holdings.size());
  for (const Holding& holding : lease.holdings) row.memory += holding.amounts.memory;
  row.expires = std::max(0.0, in_seconds(lease.expires - now));
  if (client != nullptr) {
    row.why = client->revoked;
    row.client = client->name;
    row.connected = client->peer != 0;
  }
  return row;
}

std::vector<JobRow> Manager::jobs() {
  std::vector<JobRow> rows;
  const TimePoint now = Clock::now();
  admission_.for_each_lease([&](const Lease& lease) { rows.push_back(row_of(lease, now)); });
  std::sort(rows.begin(), rows.end(), [](const JobRow& a, const JobRow& b) {
    return std::tie(a.job, a.lease) < std::tie(b.job, b.lease);
  });
  return rows;
}

std::vector<TreeRow> Manager::trees() {
  std::vector<TreeRow> rows;
  admission_.for_each_lease([&](const Lease& lease) {
    if (!lease.has_trees() || lease.adopted) return;
    for (const Tree& tree : lease.trees) {
      TreeRow row;
      row.job = lease.request.job;
      row.lease = lease.id.number();
      row.group = sharp::text_of(lease.request.group);
      row.rail = tree.rail;
      row.epoch = lease.epoch;
      row.window = lease.window_chunks();
      for (size_t place = 0; place < tree.nodes.size(); ++place) {
        const TreeNode& node = tree.nodes[place];
        const bool root = node.parent == TreeNode::kNoParent;
        row.nodes.push_back(
            {fabric_.node(node.node).description.address,
             root ? "" : fabric_.node(tree.nodes[node.parent].node).description.address,
             ranks_below(tree, place)});
      }
      rows.push_back(std::move(row));
    }
  });
  return rows;
}

std::vector<ReservationRow> Manager::reservations() {
  std::vector<ReservationRow> rows;
  for (const TenantQuota& quota : settings_.policy.tenants) {
    ReservationRow row;
    row.tenant = quota.tenant;
    row.reserved_groups = quota.reserved_per_node.groups;
    row.reserved_memory = quota.reserved_per_node.memory;
    row.reserved_bandwidth = quota.reserved_per_node.bandwidth;
    row.most_groups = quota.limit.groups;
    row.most_memory = quota.limit.memory;
    row.most_bandwidth = quota.limit.bandwidth;
    admission_.for_each_lease([&](const Lease& lease) {
      if (admission_.tenant_name(lease.request.tenant) != quota.tenant) return;
      for (const Holding& holding : lease.holdings) {
        row.groups += holding.amounts.groups;
        row.memory += holding.amounts.memory;
        row.bandwidth += holding.amounts.bandwidth;
      }
    });
    rows.push_back(row);
  }
  return rows;
}

}  // namespace sluice::manager
