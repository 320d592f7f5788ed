// SPDX-License-Identifier: Apache-2.0
// The manager's restart: leases are saved and restored by name, and nodes report what they run.
//
// Three sources may disagree: the snapshot (perhaps old), the nodes, the jobs. What a node runs
// under a newer epoch is believed; what it runs under an older one, or without holding it, it is
// told to end; what nobody reports or renews ends with its time.
#include <algorithm>
#include <utility>

#include "sharp/manager/core/admission.h"
#include "sharp/wire/limits.h"
#include "sharp/wire/membership.h"

namespace sluice::manager {

namespace {

// Numbers given after the snapshot was written are not given again.
constexpr uint32_t kGenerationsToSkip = 1 << 20;
// What a node or a file says may not make sums overflow.
constexpr uint64_t kMostOfAnything = uint64_t{1} << 48;

Status bad_lease(const SavedLease& saved, const char* why) {
  return fail(ErrorKind::invalid_argument,
              format_text("lease %llu of job %.64s in the saved state %s",
                          static_cast<unsigned long long>(saved.lease), saved.job.c_str(), why));
}

Status check_tree(const SavedLease& saved, const SavedTree& tree) {
  if (tree.nodes.empty() || tree.nodes.size() > sharp::kMaxMembers) {
    return bad_lease(saved, "has a tree without nodes");
  }
  std::vector<bool> seen(saved.members.size());
  size_t child_nodes = 0;
  for (size_t place = 0; place < tree.nodes.size(); ++place) {
    const SavedTreeNode& node = tree.nodes[place];
    if (node.address.empty()) return bad_lease(saved, "has a node without an address");
    if (place == 0 ? node.parent != TreeNode::kNoParent : node.parent >= place) {
      return bad_lease(saved, "has a tree whose nodes do not stand parents first");
    }
    for (const TreeChild& child : node.children) {
      if (child.kind == TreeChild::Kind::rank) {
        if (child.index >= seen.size() || seen[child.index]) {
          return bad_lease(saved, "has a rank that is none or is there twice");
        }
        seen[child.index] = true;
      } else if (child.index >= tree.nodes.size() || tree.nodes[child.index].parent != place) {
        return bad_lease(saved, "has a node that is not its parent's child");
      } else {
        ++child_nodes;
      }
    }
  }
  if (child_nodes + 1 != tree.nodes.size() ||
      std::find(seen.begin(), seen.end(), false) != seen.end()) {
    return bad_lease(saved, "has ranks or nodes that are in no tree");
  }
  return {};
}

Status check_saved(const SavedLease& saved) {
  if (saved.rails.empty() || saved.rails.size() > kMaxRails || saved.priority >= kPriorities) {
    return bad_lease(saved, "has rails or a priority that do not exist");
  }
  if (saved.chunk_bytes < sharp::kMinChunkBytes || saved.chunk_bytes > sharp::kMaxChunkBytes) {
    return bad_lease(saved, "has an impossible chunk");
  }
  if (saved.members.size() > sharp::kMaxMembers || (saved.members.empty() && !saved.adopted)) {
    return bad_lease(saved, "has no members or too many");
  }
  if (!saved.adopted && !saved.trees.empty() && saved.trees.size() != saved.rails.size()) {
    return bad_lease(saved, "has not one tree per rail");
  }
  if (saved.adopted) return {};
  for (const SavedTree& tree : saved.trees) SLUICE_RETURN_IF_ERROR(check_tree(saved, tree));
  return {};
}

SavedTree saved_tree(const Fabric& fabric, const Tree& tree, const Holding* holding) {
  SavedTree saved{tree.rail, {}};
  for (const TreeNode& node : tree.nodes) {
    const auto children = tree.children_of(node);
    saved.nodes.push_back({fabric.node(node.node).description.address,
                           node.parent,
                           {children.begin(), children.end()},
                           holding->amounts});
    ++holding;
  }
  return saved;
}

Tree restored_tree(const SavedTree& saved, size_t members, Fabric& fabric) {
  Tree tree;
  tree.rail = saved.rail;
  tree.leaf_of_rank.resize(members);
  for (const SavedTreeNode& node : saved.nodes) {
    const auto place = static_cast<uint16_t>(tree.nodes.size());
    tree.nodes.push_back({fabric.remember_node(node.address), node.parent,
                          static_cast<uint16_t>(node.children.size()),
                          static_cast<uint32_t>(tree.children.size())});
    for (const TreeChild& child : node.children) {
      tree.children.push_back(child);
      if (child.kind == TreeChild::Kind::rank) tree.leaf_of_rank[child.index] = place;
    }
  }
  return tree;
}

}  // namespace

Snapshot Admission::save() const {
  Snapshot snapshot;
  snapshot.generation = leases_.generation();
  for (const Node& node : fabric_.nodes()) {
    if (node.state == NodeState::draining) snapshot.draining.push_back(node.description.address);
  }
  leases_.for_each([&](const Lease& lease) { snapshot.leases.push_back(save(lease)); });
  return snapshot;
}

SavedLease Admission::save(const Lease& lease) const {
  const Request& request = lease.request;
  SavedLease saved;
  saved.lease = lease.id.number();
  saved.group = request.group;
  saved.epoch = lease.epoch;
  saved.adopted = lease.adopted;
  saved.job = request.job;
  saved.tenant = tenant_name(request.tenant);
  saved.priority = request.priority;
  saved.exclusive = request.exclusive;
  for (const HostId member : request.members) saved.members.push_back(fabric_.host(member).name);
  saved.rails = request.rails;
  saved.chunk_bytes = request.chunk_bytes;
  saved.window_bytes_wanted = request.window_bytes;
  saved.least_window_bytes = request.least_window_bytes;
  saved.latency_bytes = request.latency_bytes;
  saved.bandwidth = request.bandwidth;
  saved.window_bytes = lease.window_bytes;
  const Holding* holding = lease.holdings.data();
  if (lease.adopted) {  // its nodes, as a tree that nobody reads
    saved.trees.emplace_back();
    for (const Holding& held : lease.holdings) {
      saved.trees.back().nodes.push_back(
          {fabric_.node(held.node).description.address, TreeNode::kNoParent, {}, held.amounts});
    }
  } else if (lease.has_trees()) {
    for (const Tree& tree : lease.trees) {
      saved.trees.push_back(saved_tree(fabric_, tree, holding));
      holding += tree.nodes.size();
    }
  }
  return saved;
}

Status Admission::restore(const Snapshot& snapshot, Fabric& fabric, TimePoint now) {
  for (const std::string& address : snapshot.draining) {
    fabric.set_state(fabric.remember_node(address), NodeState::draining);
  }
  Status first_error;
  for (const SavedLease& saved : snapshot.leases) {
    const Status status = restore_lease(saved, fabric, now);
    if (!status && first_error) first_error = status;  // the others are still worth restoring
  }
  leases_.skip_generations(std::max(leases_.generation(), snapshot.generation) +
                           kGenerationsToSkip);
  return first_error;
}

Status Admission::restore_lease(const SavedLease& saved, Fabric& fabric, TimePoint now) {
  SLUICE_RETURN_IF_ERROR(check_saved(saved));
  Request request;
  request.group = saved.group;
  request.job = saved.job;
  request.tenant = tenant(saved.tenant);
  request.priority = saved.priority;
  request.exclusive = saved.exclusive;
  for (const std::string& member : saved.members) {
    if (member.empty()) return bad_lease(saved, "has a member without a name");
    request.members.push_back(fabric.remember_host(member));
  }
  request.rails = saved.rails;
  request.chunk_bytes = saved.chunk_bytes;
  request.window_bytes = saved.window_bytes_wanted;
  request.least_window_bytes = saved.least_window_bytes;
  request.latency_bytes = saved.latency_bytes;
  request.bandwidth = saved.bandwidth;
  Lease* lease = leases_.add_as(LeaseId::of(saved.lease), saved.group);
  if (lease == nullptr) return bad_lease(saved, "has a number or a group that is there already");
  lease->request = std::move(request);
  lease->epoch = saved.epoch;
  lease->adopted = saved.adopted;
  lease->window_bytes = saved.window_bytes;
  lease->trees.clear();
  leases_.touch(*lease, now + std::min(policy_.recovery_grace, policy_.lease_duration));
  for (const SavedTree& tree : saved.trees) {
    if (!saved.adopted) {
      lease->trees.push_back(restored_tree(tree, saved.members.size(), fabric));
    }
    for (const SavedTreeNode& node : tree.nodes) {
      const NodeId id = fabric.remember_node(node.address);
      synchronize();
      hold(*lease, id,
           {1, std::min(node.amounts.memory, kMostOfAnything),
            std::min(node.amounts.bandwidth, kMostOfAnything)});
    }
  }
  return {};
}

ReportOutcome Admission::report(NodeId node, std::span<const RunningGroup> groups, TimePoint now) {
  synchronize();
  ReportOutcome outcome;
  for (const RunningGroup& group : groups) report_group(node, group, now, outcome);
  return outcome;
}

void Admission::report_group(NodeId node, const RunningGroup& group, TimePoint now,
                             ReportOutcome& outcome) {
  Lease* lease = leases_.find(group.group);
  if (lease != nullptr && group.epoch < lease->epoch) {
    outcome.stale.push_back(group.group);
    return;
  }
  if (lease == nullptr) {
    lease = &leases_.add(group.group);
    lease->request = {};
    lease->request.group = group.group;
    lease->request.job = group.job;
    lease->request.tenant = tenant(group.tenant);
    lease->request.priority = kPriorities - 1;  // it runs: nobody takes it away
    lease->trees.clear();
    lease->epoch = group.epoch;
    lease->adopted = true;
    outcome.adopted.push_back(lease->id);
  } else if (group.epoch > lease->epoch) {
    drop_trees(*lease);
    lease->epoch = group.epoch;
    lease->adopted = true;
  }
  const bool held = std::any_of(lease->holdings.begin(), lease->holdings.end(),
                                [&](const Holding& holding) { return holding.node == node; });
  if (!held && !lease->adopted) {  // preempted, or re-formed elsewhere
    outcome.stale.push_back(group.group);
    return;
  }
  if (!held) hold(*lease, node, {1, std::min(group.memory, kMostOfAnything), 0});
  leases_.touch(*lease, now + policy_.lease_duration);
}

}  // namespace sluice::manager
