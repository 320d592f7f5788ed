// SPDX-License-Identifier: Apache-2.0
#include "sharp/client/recovery/leader.h"

#include <algorithm>
#include <utility>

#include "sharp/client/recovery/plan.h"

namespace sluice::sharp {
namespace {

constexpr int kAttempts = 3;  // at a substitute
constexpr Duration kSuspicion = std::chrono::milliseconds(200);
// How often the source of trees is looked at.
constexpr Duration kWhileAsking = std::chrono::milliseconds(10);
constexpr Duration kOnSubstitute = std::chrono::milliseconds(100);
constexpr Duration kOnTree = std::chrono::milliseconds(500);
constexpr Duration kShortestPatience = std::chrono::milliseconds(500);

double in_milliseconds(Duration duration) {
  return in_seconds(duration) * 1000;
}

}  // namespace

Leader::Leader(Setup setup, TreeSource* source)
    : shape_(setup.shape),
      tree_(std::move(setup.tree)),
      brackets_(brackets_of(tree_)),
      names_(std::move(setup.names)),
      join_budget_(setup.join_budget),
      answer_time_(setup.answer_time),
      job_(std::move(setup.job)),
      last_epoch_(shape_.epoch),
      source_(source),
      request_(std::move(setup.request)),
      patience_(kShortestPatience) {
  request_.window = shape_.window;  // it cannot change any more
}

std::string Leader::name_of_rank(uint16_t rank) const {
  return format_text("rank %u (%s)", unsigned{rank}, names_[rank].c_str());
}

std::string Leader::group_name() const {
  return "group " + text_of(shape_.group);
}

void Leader::order_all(const Command& command) {
  for (uint16_t rank = 0; rank < ranks(); ++rank) orders_.push_back({rank, command});
}

void Leader::await_answers(Phase phase, TimePoint now, Duration limit) {
  phase_ = phase;
  standings_.assign(ranks(), std::nullopt);
  answered_.assign(ranks(), false);
  deadline_ = now + limit;
}

void Leader::end(const std::string& sentence) {
  if (ended()) return;
  phase_ = Phase::ended;
  deadline_ = TimePoint::max();
  order_all(Fatal{sentence});
}

void Leader::on_lost(uint16_t rank, const std::string& sentence) {
  end(name_of_rank(rank) + " was lost: " + sentence);
}

void Leader::on_departed(uint16_t rank) {
  if (!departed_) departed_ = rank;
  if (phase_ == Phase::trying) {
    phase_ = Phase::steady;  // the group is about to end, it need not move
    deadline_ = TimePoint::max();
    asking_ = false;
    return;
  }
  if (!steady()) end(name_of_rank(rank) + " closed while the group was between two trees");
}

void Leader::on_trouble(uint16_t rank, const Trouble& trouble, TimePoint now) {
  const bool running = phase_ == Phase::steady || phase_ == Phase::trying;
  if (!running || trouble.epoch != shape_.epoch || suspicion_) return;
  std::string reason = format_text("%s: %s", name_of_rank(rank).c_str(), trouble.sentence.c_str());
  if (departed_) {
    end("the tree broke after " + name_of_rank(*departed_) + " had closed; " + reason);
    return;
  }
  if (hosted_ && ++strikes_ >= kAttempts) {
    end(format_text("no tree lasts, not even one among the ranks (%d tried): %s", kAttempts,
                    trouble.sentence.c_str()));
    return;
  }
  if (!hosted_) avoid_what_failed(trouble.sentence);
  if (trouble.culprit != kNoMember) {
    suspicion_ = std::move(reason);
    suspicion_ends_ = now + kSuspicion;
    return;
  }
  leave_tree(reason, now);
}

// The node that a sentence names last is the one that failed: "node A ended the group: its parent B
// was lost".
void Leader::avoid_what_failed(const std::string& sentence) {
  request_.avoid.clear();
  size_t last = 0;
  for (const TreeNode& node : tree_.nodes) {
    const size_t at = sentence.rfind(node.address);
    if (at == std::string::npos || at < last) continue;
    last = at;
    request_.avoid = {node.address};
  }
}

void Leader::leave_tree(const std::string& reason, TimePoint now) {
  suspicion_.reset();
  revoked_.clear();
  asking_ = false;
  attempts_ = 0;
  reason_ = reason;
  stopped_at_ = now;
  substitute_ = substitute_for(tree_);
  await_answers(Phase::leaving, now, answer_time_);
  warn(format_text("the tree of %s is lost, epoch %u: %s; %u ranks go on among themselves",
                   group_name().c_str(), shape_.epoch, reason.c_str(), unsigned{ranks()}));
  for (uint16_t rank = 0; rank < ranks(); ++rank) {
    const auto nodes = std::count(substitute_.hosts.begin(), substitute_.hosts.end(), rank);
    orders_.push_back({rank, Pause{shape_.epoch, static_cast<uint8_t>(nodes), reason}});
  }
}

void Leader::on_standing(uint16_t rank, Standing standing, TimePoint now) {
  const bool expected = phase_ == Phase::leaving || phase_ == Phase::switching;
  if (!expected || standing.epoch != shape_.epoch || rank >= ranks()) return;
  standings_[rank] = std::move(standing);
  answered_[rank] = true;
  if (std::find(answered_.begin(), answered_.end(), false) != answered_.end()) return;
  if (phase_ == Phase::leaving) {
    enter_substitute(now);
  } else {
    go_on(now);
  }
}

void Leader::enter_substitute(TimePoint now) {
  for (size_t node = 0; node < substitute_.hosts.size(); ++node) {
    const uint16_t host = substitute_.hosts[node];
    std::string& address = substitute_.tree.nodes[node].address;
    address = standings_[host]->hosted;
    if (address.empty()) {
      end(name_of_rank(host) + " cannot host a node for a group whose tree is lost; " + reason_);
      return;
    }
  }
  next_token_.clear();
  prepare(substitute_.tree, now);
  phase_ = Phase::entering;
}

// Keeps the standings: they are those of the tree that was left.
void Leader::prepare(const Tree& tree, TimePoint now) {
  next_tree_ = tree;
  answered_.assign(ranks(), false);
  deadline_ = now + join_budget_ + answer_time_;
  Prepare prepare;
  prepare.shape = shape_;
  prepare.shape.epoch = ++last_epoch_;
  prepare.join_budget_ms = static_cast<uint32_t>(in_milliseconds(join_budget_));
  prepare.job = job_;
  prepare.token = next_token_;
  for (uint16_t rank = 0; rank < ranks(); ++rank) {
    prepare.path = next_tree_.path_of(rank);
    orders_.push_back({rank, prepare});
  }
}

void Leader::on_ready(uint16_t rank, const Ready& ready, TimePoint now) {
  const bool expected = phase_ == Phase::entering || phase_ == Phase::trying;
  if (!expected || ready.epoch != last_epoch_ || rank >= ranks()) return;
  if (ready.yes == 0) {
    retry_or_end(name_of_rank(rank) + ": " + ready.reason, now);
    return;
  }
  answered_[rank] = true;
  if (std::find(answered_.begin(), answered_.end(), false) != answered_.end()) return;
  if (phase_ == Phase::entering) {
    go_on(now);
    return;
  }
  stopped_at_ = now;
  await_answers(Phase::switching, now, answer_time_);
  order_all(Pause{shape_.epoch, 0, "the group moves to another tree"});
}

// The tree that was to be entered cannot be.
void Leader::retry_or_end(const std::string& reason, TimePoint now) {
  if (phase_ == Phase::trying) {
    phase_ = Phase::steady;
    deadline_ = TimePoint::max();
    inform(format_text("%s stays where it is, the other tree cannot be joined: %s",
                       group_name().c_str(), reason.c_str()));
    give_up_asking(now);
  } else if (++attempts_ < kAttempts) {
    prepare(substitute_.tree, now);
  } else {
    end(format_text("the ranks cannot join each other after their tree was lost (%d attempts): %s",
                    attempts_, reason.c_str()));
  }
}

void Leader::go_on(TimePoint now) {
  std::vector<Standing> standings;
  for (auto& each : standings_) standings.push_back(std::move(*each));
  auto resume = plan_resume(standings, {shape_.latency_window, shape_.window}, last_epoch_);
  if (!resume) {
    end(resume.error().message);
    return;
  }
  const uint64_t progress = resume->classes[0].start + resume->classes[1].start;
  if (progress > last_progress_ || phase_ == Phase::switching) strikes_ = 0;
  last_progress_ = progress;
  order_all(*resume);
  shape_.epoch = last_epoch_;
  tree_ = std::move(next_tree_);
  revoked_.clear();
  hosted_ = phase_ == Phase::entering;
  phase_ = Phase::steady;
  deadline_ = TimePoint::max();
  if (hosted_) {
    inform(format_text("%s goes on after %.1f ms, epoch %u, on its ranks: %s", group_name().c_str(),
                       in_milliseconds(now - stopped_at_), shape_.epoch, tree_.text().c_str()));
    patience_ = kShortestPatience;
    ask_again_ = now;
  } else {
    report_return(now);
  }
}

void Leader::report_return(TimePoint now) {
  const bool same = brackets_of(tree_).same_shape(brackets_);
  warn(format_text("%s is on a tree again after %.1f ms, epoch %u: %s; %s", group_name().c_str(),
                   in_milliseconds(now - stopped_at_), shape_.epoch, tree_.text().c_str(),
                   same ? "results keep their bits"
                        : "the tree has another shape, so the bits of sums of floats change"));
}

std::string Leader::silent_ranks() const {
  std::string text;
  for (uint16_t rank = 0; rank < ranks(); ++rank) {
    if (answered_[rank]) continue;
    if (!text.empty()) text += ", ";
    text += name_of_rank(rank);
  }
  return text;
}

void Leader::check_deadline(TimePoint now) {
  if (now < deadline_) return;
  const std::string silent = "no answer in time from " + silent_ranks();
  if (phase_ == Phase::entering || phase_ == Phase::trying) {
    retry_or_end(silent, now);
  } else {
    end(silent + " while the group left its tree");
  }
}

void Leader::tick(TimePoint now) {
  if (ended()) return;
  if (suspicion_ && now >= suspicion_ends_) leave_tree(std::string(*suspicion_), now);
  check_deadline(now);
  if (source_ != nullptr && steady() && !suspicion_ && !departed_) tend_source(now);
}

TimePoint Leader::wake_at(TimePoint now) const {
  if (ended()) return TimePoint::max();
  TimePoint at = deadline_;
  if (suspicion_) at = std::min(at, suspicion_ends_);
  if (source_ != nullptr && steady()) {
    at = std::min(at, now + (asking_ ? kWhileAsking : hosted_ ? kOnSubstitute : kOnTree));
  }
  return at;
}

}  // namespace sluice::sharp
