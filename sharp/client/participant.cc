// SPDX-License-Identifier: Apache-2.0
#include "sharp/client/participant.h"

#include <utility>

#include "sharp/client/backoff.h"

namespace sluice::sharp {

Participant::Participant(transport::Context& context, const ClientSettings& settings, int rank,
                         int ranks)
    : context_(context),
      settings_(settings),
      rank_(static_cast<uint16_t>(rank)),
      ranks_(static_cast<uint16_t>(ranks)),
      meeting_end_(Deadline::after(settings.connect_timeout)),
      hard_limit_(hard_limit(settings.connect_timeout)) {}

Result<Agreement> Participant::agree(const transport::ListenerAddress& coordinator) {
  SLUICE_RETURN_IF_ERROR(reach(coordinator));
  SLUICE_RETURN_IF_ERROR(say_hello());
  Backoff backoff;
  while (!decision_) {
    const Status status = connection_->progress(*this);
    if (decision_) break;
    if (!status) {
      return fail(ErrorKind::remote,
                  refusal("rank 0 was lost before it decided: " + status.error().message));
    }
    if (plan_) SLUICE_RETURN_IF_ERROR(follow_plan());
    if (hard_limit_.passed()) {
      return fail(ErrorKind::timeout, refusal(format_text("rank 0 at %s did not decide in time",
                                                          connection_->peer().c_str())));
    }
    backoff.pause();
  }
  return conclude();
}

Status Participant::reach(const transport::ListenerAddress& coordinator) {
  auto connector =
      transport::Connector::open(context_, coordinator, transport::Purpose::rendezvous);
  if (!connector) return fail(std::move(connector).error());
  Backoff backoff;
  for (;;) {
    auto connection = (*connector)->progress();
    if (!connection) {
      return fail(connection.error().kind,
                  refusal("rank 0 cannot be reached: " + connection.error().message));
    }
    if (*connection != nullptr) {
      connection_ = std::move(*connection);
      return {};
    }
    if (meeting_end_.passed()) {
      return fail(ErrorKind::timeout, refusal(format_text("rank 0 at %s did not answer within %g s",
                                                          transport::text_of(coordinator).c_str(),
                                                          in_seconds(settings_.connect_timeout))));
    }
    backoff.pause();
  }
}

Status Participant::say_hello() {
  Hello hello;
  hello.rank = rank_;
  hello.ranks = ranks_;
  hello.time_left_ms = milliseconds(meeting_end_.left());
  hello.chunk_bytes = static_cast<uint32_t>(settings_.chunk_bytes);
  hello.window = static_cast<uint32_t>(settings_.window);
  hello.latency_bytes = static_cast<uint32_t>(settings_.latency_threshold);
  hello.precision = settings_.precision;
  hello.verification = settings_.verification;
  hello.fallback = can_fall_back(settings_) ? 1 : 0;
  hello.host = this_process();
  return connection_->send_message(encode(hello), {});
}

Status Participant::follow_plan() {
  if (joiner_ == nullptr) {
    joiner_ = std::make_unique<NodeJoiner>(context_, *plan_, rank_,
                                           std::chrono::milliseconds(plan_->join_budget_ms));
  }
  if (joiner_->progress() == NodeJoiner::State::working || voted_) return {};
  return vote();
}

Status Participant::vote() {
  voted_ = true;
  const bool yes = joiner_->state() == NodeJoiner::State::joined;
  SLUICE_RETURN_IF_ERROR(connection_->send_message(
      encode(Vote{static_cast<uint8_t>(yes ? 1 : 0), joiner_->reason()}), {}));
  return connection_->flush();
}

Result<Agreement> Participant::conclude() {
  static_cast<void>(connection_->send_message(encode(Farewell{}), {}));
  static_cast<void>(connection_->flush());
  if (decision_->commit == 0) return fail(ErrorKind::refused, decision_->reason);
  if (joiner_ == nullptr || joiner_->state() != NodeJoiner::State::joined) {
    return fail(ErrorKind::remote, refusal("rank 0 decided without this rank's vote"));
  }
  Agreement agreement;
  agreement.plan = *std::move(plan_);
  agreement.joiner = std::move(joiner_);
  agreement.council.push_back({std::move(connection_), std::move(early_)});
  return agreement;
}

Status Participant::on_message(std::span<const std::byte> message) {
  if (decision_) {
    early_.emplace_back(message.begin(), message.end());
    return {};
  }
  auto envelope = open_envelope(message);
  if (!envelope) return fail(std::move(envelope).error());
  if (envelope->type == MessageType::decision) {
    auto decision = decode<Decision>(*envelope);
    if (!decision) return fail(std::move(decision).error());
    decision_ = std::move(*decision);
    return {};
  }
  auto plan = decode<Plan>(*envelope);
  if (!plan) return fail(std::move(plan).error());
  SLUICE_RETURN_IF_ERROR(check(plan->shape));
  SLUICE_RETURN_IF_ERROR(check(plan->path));
  if (plan_ || plan->shape.members != ranks_) {
    return fail(ErrorKind::remote, "rank 0 sent a plan that does not fit");
  }
  plan_ = std::move(*plan);
  return {};
}

Status Participant::on_announcement(std::span<const transport::RemoteWindow>,
                                    std::span<const std::byte>) {
  return fail(ErrorKind::remote, "a window was announced at the rendezvous");
}

Status Participant::on_arrival(transport::WindowId, uint64_t, uint64_t,
                               std::span<const std::byte>) {
  return fail(ErrorKind::remote, "data was written at the rendezvous");
}

Status Participant::on_written(uint64_t) {
  return {};
}

}  // namespace sluice::sharp
