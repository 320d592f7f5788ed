// SPDX-License-Identifier: Apache-2.0
// From the first join until the tree stands. group_life.cc is what comes afterwards.
#include "sharp/agg/group.h"

#include <algorithm>
#include <utility>

#include "sharp/agg/node.h"

namespace sluice::sharp {
namespace {

// More than the parent's own limit: its sentence says who is missing.
constexpr auto kGraceForParent = std::chrono::seconds(2);

}  // namespace

Group::Group(const GroupEnvironment& environment, const Join& first, MemoryPool::Reservation memory)
    : environment_(environment),
      shape_(first.shape),
      path_(first.path),
      job_(first.job),
      token_(first.token),
      first_host_(first.host),
      layout_(first.shape, first.path.front().children, first.path.size() > 1),
      time_limit_(Deadline::after(environment.join_timeout)),
      memory_(std::move(memory)),
      children_(first.path.front().children),
      seats_(first.path.front().children),
      data_(*this, shape_, children_, layout_, memory_.memory(), environment.counters,
            environment.faults) {}

Group::~Group() = default;

uint64_t Group::memory_for(const Join& join) {
  return SlotLayout(join.shape, join.path.front().children, join.path.size() > 1).bytes();
}

std::string Group::description() const {
  return format_text("group %s of %u ranks, first from %s", text_of(shape_.group).c_str(),
                     unsigned{shape_.members}, first_host_.c_str());
}

GroupReport Group::report() const {
  return {shape_.group, shape_.epoch, shape_.members, job_, memory(), is_active() ? memory() : 0,
          since_};
}

std::optional<Refused> Group::objection_to(const Join& join) const {
  const uint16_t child = join.child();
  if (over() || left_ > 0) return Refused{RefusalCode::late, "has ended this group already"};
  const std::string newcomer = ChildInfo{join.from_node != 0, join.ranks, join.host}.name();
  if (join.shape != shape_) {
    return Refused{RefusalCode::shape, "got another shape of the group from " + newcomer +
                                           " than from the first child"};
  }
  const bool same_way =
      join.path.front().children == path_.front().children &&
      std::equal(join.path.begin() + 1, join.path.end(), path_.begin() + 1, path_.end());
  if (!same_way) {
    return Refused{RefusalCode::shape,
                   "got another tree from " + newcomer + " than from the first child"};
  }
  if (seats_[child].joined) {
    return Refused{RefusalCode::duplicate, format_text("has child %u already, %s", unsigned{child},
                                                       children_[child].full_name().c_str())};
  }
  if (overlap(join.ranks, ranks_)) {
    return Refused{RefusalCode::duplicate, "has some of the ranks of " + newcomer + " already"};
  }
  return std::nullopt;
}

Status Group::join(const Join& join, ChildPort& port) {
  const uint16_t child = join.child();
  children_[child] = {join.from_node != 0, join.ranks, join.host};
  seats_[child] = {&port, true, false};
  ranks_ = united(ranks_, join.ranks);
  ++attached_;
  SLUICE_RETURN_IF_ERROR(data_.attach(child, port));
  if (++joined_ == static_cast<int>(seats_.size())) complete();
  return {};
}

void Group::complete() {
  if (parent() != nullptr) {
    call_parent();
  } else if (count_of(ranks_) != shape_.members) {
    end(kNoMember, format_text("the tree is complete with %u of %u ranks: %s", count_of(ranks_),
                               unsigned{shape_.members}, text_of(ranks_).c_str()));
  } else {
    stand();
  }
}

void Group::call_parent() {
  auto connector = environment_.dialer.dial(parent()->node);
  if (!connector) {
    refuse("cannot call its parent: " + connector.error().message);
    return;
  }
  Join join;
  join.shape = shape_;
  join.path.assign(path_.begin() + 1, path_.end());
  join.ranks = ranks_;
  join.from_node = 1;
  join.host = path_.front().node;
  join.job = job_;
  join.token = token_;
  const auto results = memory_.memory().subspan(layout_.down_slot(TrafficClass::streaming, 0),
                                                layout_.row(TrafficClass::streaming));
  upstream_ =
      std::make_unique<Upstream>(environment_.loop, *this, std::move(join), std::move(*connector),
                                 memory_.memory(), results, environment_.faults);
  data_.attach_parent(*upstream_);
  state_ = State::joining;
  time_limit_ = environment_.join_timeout < Duration::max() / 2
                    ? Deadline::after(environment_.join_timeout + kGraceForParent)
                    : Deadline();
  environment_.loop.activate(*upstream_);
}

void Group::on_parent_joined() {
  if (state_ == State::joining) stand();
}

void Group::stand() {
  state_ = State::active;
  time_limit_ = Deadline();
  last_activity_ = Clock::now();
  for (uint16_t child = 0; child < children(); ++child) {
    ChildPort* port = seats_[child].port;
    if (port == nullptr) continue;
    // A connection that fails here says so again when it is driven next.
    static_cast<void>(port->connection().send_message(encode(Joined{child}), {}));
    port->touch();
  }
  const std::string way = parent() == nullptr ? "" : ", below node " + parent()->node;
  SLUICE_INFO(environment_.logger, collective,
              "%s formed: %zu children%s, chunk %u bytes, window %u, latency up to %u bytes",
              description().c_str(), seats_.size(), way.c_str(), shape_.chunk_bytes, shape_.window,
              shape_.latency_bytes);
}

std::string Group::missing() const {
  std::vector<RankRange> absent;
  if (parent() == nullptr) {  // the root knows all ranks
    for (uint16_t rank = 0; rank < shape_.members; ++rank) {
      if (!ChildInfo{false, ranks_, ""}.holds(rank)) absent = united(absent, {{rank, 1}});
    }
    return "rank " + text_of(absent);
  }
  for (uint16_t child = 0; child < children(); ++child) {
    if (!seats_[child].joined) absent = united(absent, {{child, 1}});
  }
  return format_text("child %s of node %s", text_of(absent).c_str(), path_.front().node.c_str());
}

void Group::check_time() {
  if (over() || !time_limit_.passed()) return;
  const double seconds = in_seconds(environment_.join_timeout);
  if (state_ == State::forming) {
    end(kNoMember, format_text("the group was not complete within %g s: no join from %s", seconds,
                               missing().c_str()));
  } else {
    end(kNoMember, format_text("node %s did not answer node %s within %g s", parent()->node.c_str(),
                               path_.front().node.c_str(), seconds));
  }
}

void Group::on_parent_refused(const Refused& refused) {
  if (over()) return;
  refuse("cannot use its parent: node " + parent()->node + " " + refused.sentence);
}

}  // namespace sluice::sharp
