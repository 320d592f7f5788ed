// SPDX-License-Identifier: Apache-2.0
#include "sharp/client/recovery/follower.h"

#include <utility>

#include "sharp/wire/rendezvous.h"

namespace sluice::sharp {

Follower::Follower(transport::Context& context, RecoverableGroup& group,
                   std::shared_ptr<NodeHostFactory> hosts, const transport::SocketAddress& bind,
                   uint16_t rank)
    : context_(context), group_(group), hosts_(std::move(hosts)), bind_(bind), rank_(rank) {}

void Follower::abandon() {
  static_cast<void>(host_.release());
  for (auto& each : outdated_) static_cast<void>(each.release());
  static_cast<void>(joiner_.release());
}

// Empty: none, and the log says why.
std::string Follower::host_node() {
  if (hosts_ == nullptr) return {};
  auto host = hosts_->open(context_, bind_);
  if (!host) {
    SLUICE_WARN(context_.logger(), collective, "in-network reduction: no node can be hosted: %s",
                host.error().message.c_str());
    return {};
  }
  host_ = std::move(*host);
  return transport::text_of(host_->address());
}

Standing Follower::on_pause(const Pause& pause) {
  between_trees_ = true;
  settling_ = false;
  Standing standing = group_.cut_off();
  standing.epoch = pause.epoch;
  // Others may not have left yet what was hosted so far; when the group goes on, all have.
  if (host_ != nullptr) outdated_.push_back(std::move(host_));
  if (pause.host_nodes > 0) standing.hosted = host_node();
  return standing;
}

void Follower::on_prepare(const Prepare& prepare) {
  Plan plan;
  plan.shape = prepare.shape;
  plan.path = prepare.path;
  plan.join_budget_ms = prepare.join_budget_ms;
  plan.job = prepare.job;
  plan.token = prepare.token;
  next_shape_ = prepare.shape;
  answered_ = false;
  joiner_.reset();  // leaves what it had joined
  Status fits = check(prepare.shape);
  if (fits) fits = check(prepare.path);
  if (!fits) {
    unfit_ = fits.error().message;
    return;
  }
  joiner_ = std::make_unique<NodeJoiner>(context_, plan, rank_,
                                         std::chrono::milliseconds(prepare.join_budget_ms));
}

std::optional<Ready> Follower::progress() {
  if (settling_ && group_.settle()) {
    settling_ = false;
    outdated_.clear();
  }
  if (!unfit_.empty()) return Ready{next_shape_.epoch, 0, std::exchange(unfit_, {})};
  if (!joining()) return std::nullopt;
  const NodeJoiner::State state = joiner_->progress();
  if (state == NodeJoiner::State::working) return std::nullopt;
  answered_ = true;
  const bool joined = state == NodeJoiner::State::joined;
  return Ready{next_shape_.epoch, static_cast<uint8_t>(joined ? 1 : 0), joiner_->reason()};
}

Status Follower::on_resume(const Resume& resume) {
  const bool ready = joiner_ != nullptr && joiner_->state() == NodeJoiner::State::joined &&
                     resume.epoch == next_shape_.epoch && between_trees_;
  if (!ready) {
    return fail(ErrorKind::remote,
                format_text("rank 0 lets the group go on in epoch %u, which this rank has not "
                            "joined",
                            resume.epoch));
  }
  NodeJoiner::Session session = joiner_->take();
  joiner_.reset();
  between_trees_ = false;
  settling_ = true;
  return group_.resume(std::move(session), resume, next_shape_);
}

}  // namespace sluice::sharp
