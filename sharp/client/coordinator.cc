// SPDX-License-Identifier: Apache-2.0
#include "sharp/client/coordinator.h"

#include <algorithm>
#include <utility>

#include "sharp/client/backoff.h"
#include "sharp/client/coordinator_peer.h"
#include "sharp/wire/limits.h"

namespace sluice::sharp {
namespace {

// Votes come after the joins, the farewells after the decision: a moment for their way.
constexpr auto kVoteMargin = std::chrono::seconds(1);
constexpr auto kFarewellTime = std::chrono::seconds(2);

constexpr size_t kMostTreeText = 400;  // characters

uint32_t bounded(size_t value, uint32_t least, uint32_t most) {
  return static_cast<uint32_t>(std::clamp<size_t>(value, least, most));
}

}  // namespace

Coordinator::Coordinator(transport::Context& context, const ClientSettings& settings,
                         std::vector<std::string> hosts, transport::Listener& listener)
    : context_(context),
      settings_(settings),
      ranks_(static_cast<int>(hosts.size())),
      listener_(listener),
      start_(Clock::now()),
      meeting_end_(Deadline::after(settings.connect_timeout)),
      by_rank_(hosts.size()) {
  request_.hosts = std::move(hosts);
}

Coordinator::~Coordinator() = default;

Result<Agreement> Coordinator::agree() {
  if (settings_.trees.empty() && settings_.manager.empty()) {
    abort(
        "no aggregation node is configured: set SLUICE_AGG=host:port or SLUICE_MANAGER=host:port, "
        "at least for rank 0");
  }
  meet();
  if (!aborted()) abort_unless(make_shape());
  if (!aborted()) find_tree();
  if (!aborted()) collect_votes();
  decide();
  say_farewell();
  if (aborted()) return fail(ErrorKind::refused, reason_);
  return conclude();
}

void Coordinator::abort(const std::string& reason) {
  if (aborted()) return;
  reason_ = refusal(reason);
  SLUICE_WARN(context_.logger(), collective, "%s", reason_.c_str());
  decide();
}

// Even when all is lost already, the others are waited for: they shall hear the reason.
void Coordinator::meet() {
  Backoff backoff;
  while (!all_came() && !meeting_end_.passed()) {
    auto connection = listener_.accept();
    if (!connection) {
      // The listener has a time limit of its own; what it means is the same.
      if (connection.error().kind == ErrorKind::timeout) break;
      abort("rank 0 cannot accept the others: " + connection.error().message);
      return;
    }
    if (*connection != nullptr) peers_.push_back(std::make_unique<Peer>(std::move(*connection)));
    drive_peers();
    if (*connection == nullptr) backoff.pause();
  }
  if (!all_came()) {
    abort(format_text("%s did not come within %.3g s", missing_ranks().c_str(),
                      in_seconds(Clock::now() - start_)));
  }
}

std::string Coordinator::missing_ranks() const {
  std::string text;
  int count = 0;
  for (int rank = 1; rank < ranks_; ++rank) {
    if (by_rank_[static_cast<size_t>(rank)] != nullptr) continue;
    if (++count <= 8) text += (text.empty() ? "" : ", ") + std::to_string(rank);
  }
  if (count > 8) text += format_text(" and %d more", count - 8);
  return (count == 1 ? "rank " : "ranks ") + text;
}

void Coordinator::drive_peers() {
  for (const auto& peer : peers_) {
    if (peer->farewell) continue;
    peer->drive();
    if (peer->hello && !peer->greeted) greet(*peer);
    if (!peer->trouble.empty() && !peer->told) {
      peer->told = true;
      // Whoever has shown a handle of this communicator is one of the ranks.
      abort(peer->name() + " was lost while the ranks agreed: " + peer->trouble);
    }
  }
}

void Coordinator::greet(Peer& peer) {
  peer.greeted = true;
  const Hello& hello = *peer.hello;
  ++came_;
  meeting_end_ =
      std::min(meeting_end_, Deadline::after(std::chrono::milliseconds(hello.time_left_ms)),
               [](const Deadline& a, const Deadline& b) { return a.at() < b.at(); });
  if (hello.ranks != ranks_) {
    abort(format_text("%s counts %u ranks, rank 0 counts %d", peer.name().c_str(),
                      unsigned{hello.ranks}, ranks_));
  } else if (hello.rank == 0 || hello.rank >= ranks_) {
    abort(format_text("%s: there is no such rank among %d", peer.name().c_str(), ranks_));
  } else if (by_rank_[hello.rank] != nullptr) {
    abort(format_text("rank %u came twice: from %s and from %s", unsigned{hello.rank},
                      by_rank_[hello.rank]->hello->host.c_str(), hello.host.c_str()));
  } else {
    by_rank_[hello.rank] = &peer;
    compare_settings(peer);
  }
  if (decided_) tell(peer);
}

void Coordinator::compare_settings(const Peer& peer) {
  const Hello& hello = *peer.hello;
  if (hello.fallback == 0 && cannot_fall_back_.empty()) cannot_fall_back_ = peer.name();
  if (hello.precision != settings_.precision || hello.verification != settings_.verification) {
    SLUICE_WARN(context_.logger(), collective,
                "%s is set to another precision or verification; rank 0's are used by all",
                peer.name().c_str());
  }
  if (hello.chunk_bytes == settings_.chunk_bytes &&
      hello.window == static_cast<uint32_t>(settings_.window) &&
      hello.latency_bytes == settings_.latency_threshold) {
    return;
  }
  SLUICE_WARN(context_.logger(), collective,
              "%s is set to chunk %u, window %u, latency threshold %u; rank 0's %zu, %d, %zu are "
              "used by all",
              peer.name().c_str(), hello.chunk_bytes, hello.window, hello.latency_bytes,
              settings_.chunk_bytes, settings_.window, settings_.latency_threshold);
}

Status Coordinator::make_shape() {
  auto id = random_group_id();
  if (!id) return fail(std::move(id).error());
  GroupShape& shape = plan_.shape;
  shape.group = *id;
  shape.epoch = 1;
  shape.members = static_cast<uint16_t>(ranks_);
  shape.chunk_bytes = bounded(settings_.chunk_bytes, kMinChunkBytes, kMaxChunkBytes) /
                      kChunkAlignment * kChunkAlignment;
  shape.window = bounded(static_cast<size_t>(std::max(settings_.window, 1)), 1, kMaxChunkWindow);
  shape.latency_bytes = bounded(settings_.latency_threshold, 0, kMaxLatencyBytes);
  shape.latency_window = kLatencyWindow;
  shape.precision = settings_.precision;
  shape.verification = settings_.verification;
  plan_.job = settings_.job;
  plan_.fallback = can_fall_back(settings_) && cannot_fall_back_.empty() ? 1 : 0;
  if (can_fall_back(settings_) && plan_.fallback == 0) {
    SLUICE_WARN(context_.logger(), collective,
                "%s cannot go on without a tree: if the tree dies, that ends the group",
                cannot_fall_back_.c_str());
  }
  return check(shape);
}

// The source is polled; who is lost meanwhile ends it.
void Coordinator::find_tree() {
  const GroupShape& shape = plan_.shape;
  request_.group = shape.group;
  request_.epoch = shape.epoch;
  request_.chunk_bytes = shape.chunk_bytes;
  request_.window = shape.window;
  request_.rail = settings_.rail;
  request_.job = settings_.job;
  request_.tenant = settings_.tenant;
  request_.priority = settings_.priority;
  join_end_ = Deadline::after(join_budget(settings_.connect_timeout));
  const Deadline deadline = Deadline::after(tree_budget(settings_.connect_timeout));
  source_ = make_tree_source(context_, settings_);
  source_->request(request_);
  Backoff backoff;
  while (!aborted()) {
    auto offer = source_->poll();
    if (!offer) return abort(offer.error().message);
    if (*offer) return take_offer(**std::move(offer));
    if (deadline.passed()) {
      return abort(format_text("no tree was offered within %g s",
                               in_seconds(tree_budget(settings_.connect_timeout))));
    }
    drive_peers();
    backoff.pause();
  }
}

void Coordinator::take_offer(TreeOffer offer) {
  offer_ = std::move(offer);
  if (const Status sound = offer_.tree.check(); !sound) return abort(sound.error().message);
  if (offer_.window > 0) plan_.shape.window = std::min(plan_.shape.window, offer_.window);
  plan_.token = offer_.token;
  plan_.tree = (offer_.tree.nodes.size() == 1 ? "node " + offer_.tree.nodes.front().address
                                              : "tree " + offer_.tree.text());
  if (plan_.tree.size() > kMostTreeText)
    plan_.tree.replace(kMostTreeText, std::string::npos, "...");
  plan_.join_budget_ms = milliseconds(join_end_.left());
  plan_.path = offer_.tree.path_of(0);
}

void Coordinator::send_plans() {
  for (const auto& peer : peers_) {
    Plan plan = plan_;
    plan.path = offer_.tree.path_of(peer->hello->rank);
    peer->send(plan);
  }
}

bool Coordinator::has_voted(Peer& peer, const Deadline& deadline) {
  if (!peer.vote) {
    if (deadline.passed()) abort(peer.name() + " did not vote in time");
    return false;
  }
  if (peer.vote->yes == 0) abort(peer.vote->reason);
  return true;
}

void Coordinator::collect_votes() {
  send_plans();
  const auto budget = std::chrono::milliseconds(plan_.join_budget_ms);
  joiner_ = std::make_unique<NodeJoiner>(context_, plan_, uint16_t{0}, budget);
  const Deadline deadline = Deadline::after(budget + kVoteMargin);
  Backoff backoff;
  while (!aborted()) {
    drive_peers();
    if (joiner_->progress() == NodeJoiner::State::failed) abort(joiner_->reason());
    bool complete = joiner_->state() == NodeJoiner::State::joined;
    for (size_t rank = 1; rank < by_rank_.size() && !aborted(); ++rank) {
      complete = has_voted(*by_rank_[rank], deadline) && complete;
    }
    if (complete) return;
    backoff.pause();
  }
}

void Coordinator::decide() {
  decided_ = true;
  for (const auto& peer : peers_) {
    if (peer->hello) tell(*peer);
  }
}

void Coordinator::tell(Peer& peer) {
  if (peer.told) return;
  peer.told = true;
  peer.send(Decision{static_cast<uint8_t>(aborted() ? 0 : 1), reason_});
}

// Closing at once could destroy the decision on its way.
void Coordinator::say_farewell() {
  const Deadline deadline = Deadline::after(kFarewellTime);
  Backoff backoff;
  const auto gone = [](const auto& peer) {
    return peer->farewell || !peer->trouble.empty() || !peer->told;
  };
  while (!std::all_of(peers_.begin(), peers_.end(), gone) && !deadline.passed()) {
    for (const auto& peer : peers_) peer->drive();
    if (joiner_ != nullptr) joiner_->progress();
    backoff.pause();
  }
}

Agreement Coordinator::conclude() {
  Agreement agreement;
  agreement.plan = plan_;
  agreement.joiner = std::move(joiner_);
  agreement.hosts.push_back(this_process());
  agreement.council.emplace_back();
  for (size_t rank = 1; rank < by_rank_.size(); ++rank) {
    agreement.hosts.push_back(by_rank_[rank]->hello->host);
    agreement.council.push_back(by_rank_[rank]->take());
  }
  agreement.source = std::move(source_);
  agreement.request = std::move(request_);
  agreement.offer = std::move(offer_);
  return agreement;
}

}  // namespace sluice::sharp
