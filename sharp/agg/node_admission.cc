// SPDX-License-Identifier: Apache-2.0
// Who gets into a node.
#include <algorithm>

#include "sharp/agg/node.h"

namespace sluice::sharp {
namespace {

double mebibytes(uint64_t bytes) {
  return static_cast<double>(bytes) / (1 << 20);
}

// What no group may look like, whoever asks.
Status check(const Join& join) {
  SLUICE_RETURN_IF_ERROR(check(join.shape));
  SLUICE_RETURN_IF_ERROR(check(join.path));
  const bool one_rank = join.ranks.size() == 1 && join.ranks.front().count == 1;
  if (!are_ranks(join.ranks, join.shape.members) || (join.from_node == 0 && !one_rank)) {
    return fail(ErrorKind::refused,
                format_text("a child is not rank %s of a group of %u", text_of(join.ranks).c_str(),
                            unsigned{join.shape.members}));
  }
  return {};
}

}  // namespace

Admission AggregationNode::admit(const Join& join) {
  if (const Status possible = check(join); !possible) {
    SLUICE_WARN(logger_, collective, "refused a child from %s: this node cannot do that: %s",
                join.host.c_str(), possible.error().message.c_str());
    return tl::unexpected(
        Refused{RefusalCode::shape, "cannot do that: " + possible.error().message});
  }
  const auto found = groups_.find({join.shape.group, join.shape.epoch});
  if (found == groups_.end()) return form(join);
  if (auto objection = found->second->objection_to(join)) return tl::unexpected(*objection);
  return found->second.get();
}

std::optional<Refused> AggregationNode::objection_to_new(const Join& join) const {
  if (draining_) return Refused{RefusalCode::draining, "takes no new groups: it is drained"};
  if (join.shape.members > limits_.max_members) {
    return Refused{RefusalCode::shape,
                   format_text("takes groups of up to %d ranks, not %u", limits_.max_members,
                               unsigned{join.shape.members})};
  }
  const auto running = std::count_if(groups_.begin(), groups_.end(),
                                     [](const auto& entry) { return !entry.second->over(); });
  if (running >= limits_.max_groups) {
    return Refused{RefusalCode::full, format_text("is full: %d of %d groups",
                                                  static_cast<int>(running), limits_.max_groups)};
  }
  const uint64_t bytes = Group::memory_for(join);
  if (pool_.can_reserve(bytes)) return std::nullopt;
  if (bytes > pool_.active_limit()) {
    return Refused{RefusalCode::memory,
                   format_text("is too small: %.1f MiB are needed, it has %.1f", mebibytes(bytes),
                               mebibytes(pool_.active_limit()))};
  }
  return Refused{RefusalCode::memory,
                 format_text("is full: %.1f MiB are needed, %.1f of %.1f MiB are reserved%s",
                             mebibytes(bytes), mebibytes(pool_.reserved()),
                             mebibytes(pool_.reserved_limit()), heaviest_user().c_str())};
}

Admission AggregationNode::form(const Join& join) {
  auto objection = objection_to_new(join);
  Result<MemoryPool::Reservation> memory = fail(ErrorKind::refused, "");
  if (!objection) {
    memory = pool_.reserve(Group::memory_for(join));
    if (!memory) {
      objection = Refused{RefusalCode::memory, "has no memory: " + memory.error().message};
    }
  }
  if (objection) {
    SLUICE_WARN(logger_, collective, "refused a group of %u ranks from %s: this node %s",
                unsigned{join.shape.members}, join.host.c_str(), objection->sentence.c_str());
    return tl::unexpected(std::move(*objection));
  }
  ++groups_formed_;
  auto group = std::make_unique<Group>(environment_, join, std::move(*memory));
  const GroupKey key{join.shape.group, join.shape.epoch};
  return groups_.emplace(key, std::move(group)).first->second.get();
}

std::string AggregationNode::heaviest_user() const {
  const auto heaviest = std::max_element(
      groups_.begin(), groups_.end(),
      [](const auto& a, const auto& b) { return a.second->memory() < b.second->memory(); });
  if (heaviest == groups_.end()) return "";
  return format_text(", most of it (%.1f MiB) by %s", mebibytes(heaviest->second->memory()),
                     heaviest->second->description().c_str());
}

}  // namespace sluice::sharp
