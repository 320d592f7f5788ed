// SPDX-License-Identifier: Apache-2.0
// The node's links and their rounds. node_admission.cc says who gets in.
#include "sharp/agg/node.h"

#include <algorithm>

namespace sluice::sharp {
namespace {

constexpr size_t kReservedPerActive = 16;

size_t reserved_limit(const NodeLimits& limits) {
  return limits.memory_reserved != 0 ? limits.memory_reserved : kReservedPerActive * limits.memory;
}

}  // namespace

AggregationNode::AggregationNode(const Logger& logger, const NodeLimits& limits,
                                 ParentDialer& dialer, EventSource* events)
    : logger_(logger),
      limits_(limits),
      events_(events),
      faults_(limits.faults),
      pool_(limits.memory, reserved_limit(limits)),
      environment_{logger_,
                   *this,
                   dialer,
                   counters_,
                   faults_,
                   limits.join_timeout,
                   limits.idle_after,
                   limits.memory_wait} {}

AggregationNode::~AggregationNode() = default;

void AggregationNode::adopt(std::unique_ptr<transport::Connection> connection) {
  auto child = std::make_unique<Child>(*this, *this, std::move(connection));
  enlist(*child);
  watch(*child);
  activate(*child);
  const uint64_t id = child->id;
  children_.emplace(id, std::move(child));
}

void AggregationNode::enlist(Link& link) {
  link.id = next_link_++;
  links_.emplace(link.id, &link);
}

void AggregationNode::strike(Link& link) {
  links_.erase(link.id);
  if (link.active) std::erase(active_, &link);
}

void AggregationNode::watch(Link& link) {
  // A link that cannot be watched is still looked at by activate_all().
  if (events_ == nullptr) return;
  if (const Status added = events_->add(link.medium()->event_fd(), link.id); !added) {
    SLUICE_WARN(logger_, collective, "%s", added.error().message.c_str());
  }
}

void AggregationNode::pause(Link& link, bool on) {
  if (link.paused == on) return;
  link.paused = on;
  if (events_ != nullptr) events_->pause(link.medium()->event_fd(), link.id, on);
  if (!on) link.woken = true;
  if (!on) activate(link);
}

void AggregationNode::on_event(uint64_t link) {
  const auto found = links_.find(link);
  if (found == links_.end()) return;
  found->second->woken = true;
  activate(*found->second);
}

void AggregationNode::activate(Link& link) {
  if (link.id == 0) enlist(link);
  if (link.active) return;
  link.active = true;
  link.last_moved = Clock::now();
  active_.push_back(&link);
}

void AggregationNode::activate_all() {
  for (auto& [id, link] : links_) activate(*link);
}

bool AggregationNode::drive(Link& link) {
  if (!link.drive()) return false;
  link.last_moved = Clock::now();
  return true;
}

bool AggregationNode::step() {
  bool moved = false;
  bool ended = false;
  // Links that become active meanwhile join this very round: results go out at once.
  for (size_t at = 0; at < active_.size(); ++at) {
    Link& link = *active_[at];
    moved |= drive(link);
    ended |= link.finished();
  }
  if (ended) tidy();
  return moved;
}

bool AggregationNode::rest(Duration spin) {
  const TimePoint now = Clock::now();
  std::erase_if(active_, [&](Link* link) {
    if (now - link->last_moved < spin) return false;
    transport::Connection* medium = link->medium();
    if (medium != nullptr && !link->paused && !medium->prepare_wait()) return false;
    link->active = false;
    return true;
  });
  return active_.empty();
}

bool AggregationNode::connecting() const {
  return std::any_of(groups_.begin(), groups_.end(),
                     [](const auto& entry) { return entry.second->connecting(); });
}

void AggregationNode::tidy() {
  const std::string who_has_it = heaviest_user();
  for (auto& [key, group] : groups_) group->tidy(who_has_it);
  std::erase_if(children_, [&](auto& entry) {
    Child& child = *entry.second;
    if (!child.finished()) return false;
    if (!child.complaint().empty() && strangers_.allow()) {
      SLUICE_WARN(logger_, collective, "dropped %s, which is no member: %s",
                  child.connection().peer().c_str(), child.complaint().c_str());
    }
    strike(child);
    return true;
  });
  std::erase_if(groups_, [&](auto& entry) {
    if (!entry.second->deserted()) return false;
    if (Link* upstream = entry.second->upstream()) strike(*upstream);
    return true;
  });
  feed_hungry();
}

// First come, first served; whoever does not fit waits, and those behind it too.
void AggregationNode::feed_hungry() {
  std::vector<Group*> hungry;
  for (auto& [key, group] : groups_) {
    if (group->hungry_since()) hungry.push_back(group.get());
  }
  std::sort(hungry.begin(), hungry.end(),
            [](const Group* a, const Group* b) { return *a->hungry_since() < *b->hungry_since(); });
  for (Group* group : hungry) {
    if (!group->feed()) break;
  }
  for (auto& [id, child] : children_) {
    const Group* group = child->group();
    pause(*child, group != nullptr && group->hungry_since().has_value());
  }
}

AggregationNode::Statistics AggregationNode::statistics() const {
  return {groups_.size(),   children_.size(), pool_.active(),
          pool_.reserved(), groups_formed_,   counters_};
}

NodeReport AggregationNode::report() const {
  NodeReport report{limits_, draining_, {}};
  for (const auto& [key, group] : groups_) {
    if (!group->over()) report.groups.push_back(group->report());
  }
  return report;
}

bool AggregationNode::quiet() const {
  return std::all_of(groups_.begin(), groups_.end(),
                     [](const auto& entry) { return entry.second->quiet(); });
}

void AggregationNode::drain(bool on) {
  if (on != draining_) {
    SLUICE_INFO(logger_, collective, "%s",
                on ? "drained: new groups are refused" : "takes new groups again");
  }
  draining_ = on;
}

void AggregationNode::end_group(const GroupId& group, uint32_t last_epoch,
                                const std::string& sentence) {
  for (auto& [key, running] : groups_) {
    if (key.first == group && key.second <= last_epoch) running->expel(sentence);
  }
}

}  // namespace sluice::sharp
