// SPDX-License-Identifier: Apache-2.0
#include "sharp/agg/node.h"

#include <algorithm>
#include <utility>

namespace sluice::sharp {
namespace {

double mebibytes(uint64_t bytes) {
  return static_cast<double>(bytes) / (1 << 20);
}

}  // namespace

AggregationNode::AggregationNode(const Logger& logger, const NodeLimits& limits)
    : logger_(logger), limits_(limits), pool_(limits.memory) {}

AggregationNode::~AggregationNode() = default;

uint64_t AggregationNode::adopt(std::unique_ptr<transport::Connection> connection) {
  const uint64_t id = next_child_++;
  auto child = std::make_unique<Child>(id, std::move(connection), *this);
  activate(*child);
  children_.emplace(id, std::move(child));
  return id;
}

void AggregationNode::activate(uint64_t child) {
  const auto found = children_.find(child);
  if (found != children_.end()) activate(*found->second);
}

void AggregationNode::activate(Child& child) {
  if (child.active) return;
  child.active = true;
  child.last_moved = Clock::now();
  active_.push_back(&child);
}

void AggregationNode::activate_all() {
  for (auto& [id, child] : children_) activate(*child);
}

bool AggregationNode::step() {
  bool moved = false;
  bool ended = false;
  // Children that become active meanwhile join this very round: results go out at once.
  for (size_t at = 0; at < active_.size(); ++at) {
    Child& child = *active_[at];
    if (child.drive()) {
      child.last_moved = Clock::now();
      moved = true;
    }
    ended = ended || child.finished();
  }
  if (ended) tidy();
  return moved;
}

bool AggregationNode::rest(Duration spin) {
  const TimePoint now = Clock::now();
  std::erase_if(active_, [&](Child* child) {
    if (now - child->last_moved < spin) return false;
    if (!child->connection().prepare_wait()) return false;
    child->active = false;
    return true;
  });
  return active_.empty();
}

void AggregationNode::drop(Child& child) {
  if (!child.complaint().empty() && strangers_.allow()) {
    SLUICE_WARN(logger_, collective, "dropped %s, which is no member: %s",
                child.connection().peer().c_str(), child.complaint().c_str());
  }
  std::erase(active_, &child);
}

void AggregationNode::tidy() {
  for (auto& [id, group] : groups_) group->check_lease();
  std::erase_if(children_, [&](auto& entry) {
    if (!entry.second->finished()) return false;
    drop(*entry.second);
    return true;
  });
  std::erase_if(groups_, [](const auto& entry) { return entry.second->deserted(); });
}

Admission AggregationNode::admit(const Join& join) {
  if (join.child() >= join.shape.members) {
    return tl::unexpected(Refused{
        RefusalCode::shape, format_text("got rank %u of a group of %u", unsigned{join.child()},
                                        unsigned{join.shape.members})});
  }
  const auto found = groups_.find(join.shape.group);
  if (found == groups_.end()) return form(join);
  if (auto objection = found->second->objection_to(join)) return tl::unexpected(*objection);
  return found->second.get();
}

Admission AggregationNode::form(const Join& join) {
  const auto refuse = [&](RefusalCode code, std::string sentence) {
    SLUICE_WARN(logger_, collective, "refused a group of %u ranks from %s: this node %s",
                unsigned{join.shape.members}, join.host.c_str(), sentence.c_str());
    return tl::unexpected(Refused{code, std::move(sentence)});
  };
  if (const Status shape = check(join.shape); !shape) {
    return refuse(RefusalCode::shape, "cannot do that: " + shape.error().message);
  }
  if (join.shape.members > limits_.max_members) {
    return refuse(RefusalCode::shape,
                  format_text("takes groups of up to %d ranks, not %u", limits_.max_members,
                              unsigned{join.shape.members}));
  }
  if (draining_) return refuse(RefusalCode::draining, "takes no new groups: it is drained");
  const auto running = std::count_if(groups_.begin(), groups_.end(),
                                     [](const auto& entry) { return !entry.second->over(); });
  if (running >= limits_.max_groups) {
    return refuse(RefusalCode::full, format_text("is full: %d of %d groups",
                                                 static_cast<int>(running), limits_.max_groups));
  }
  const uint64_t bytes = Reducer::memory_for(join.shape);
  if (!pool_.has_room_for(bytes)) {
    return refuse(
        RefusalCode::memory,
        format_text("is full: %.1f MiB are needed, %.1f of %.1f MiB are in use%s", mebibytes(bytes),
                    mebibytes(pool_.used()), mebibytes(pool_.limit()), heaviest_user().c_str()));
  }
  auto lease = pool_.lease(bytes);
  if (!lease) return refuse(RefusalCode::memory, "has no memory: " + lease.error().message);
  auto group = std::make_unique<Group>(logger_, join.shape, std::move(*lease), limits_.join_timeout,
                                       counters_);
  ++groups_formed_;
  return groups_.emplace(join.shape.group, std::move(group)).first->second.get();
}

std::string AggregationNode::heaviest_user() const {
  const auto heaviest = std::max_element(
      groups_.begin(), groups_.end(),
      [](const auto& a, const auto& b) { return a.second->memory() < b.second->memory(); });
  if (heaviest == groups_.end()) return "";
  return format_text(", most of it (%.1f MiB) by %s", mebibytes(heaviest->second->memory()),
                     heaviest->second->description().c_str());
}

AggregationNode::Statistics AggregationNode::statistics() const {
  return {groups_.size(), children_.size(), pool_.used(), groups_formed_, counters_};
}

NodeReport AggregationNode::report() const {
  NodeReport report{limits_, draining_, {}};
  for (const auto& [id, group] : groups_) {
    if (!group->over()) report.groups.push_back(group->report());
  }
  return report;
}

void AggregationNode::drain(bool on) {
  if (on != draining_)
    SLUICE_INFO(logger_, collective, "%s",
                on ? "drained: new groups are refused" : "takes new groups again");
  draining_ = on;
}

}  // namespace sluice::sharp
