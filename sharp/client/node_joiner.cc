// SPDX-License-Identifier: Apache-2.0
#include "sharp/client/node_joiner.h"

#include <utility>

#include "sharp/client/agreement.h"
#include "sharp/wire/limits.h"

namespace sluice::sharp {

NodeJoiner::NodeJoiner(transport::Context& context, const Plan& plan, uint16_t rank,
                       Duration budget)
    : context_(context),
      plan_(plan),
      rank_(rank),
      budget_(budget),
      deadline_(Deadline::after(budget)) {
  if (const Status opened = open(); !opened) {
    give_up("node " + plan_.path.front().node + " cannot be reached: " + opened.error().message);
  }
}

NodeJoiner::~NodeJoiner() {
  if (connection_ == nullptr || !accepted_) return;
  // Best effort: the node notices the close as well.
  static_cast<void>(connection_->send_message(encode(Leave{plan_.path.front().child}), {}));
  static_cast<void>(connection_->flush());
}

Status NodeJoiner::open() {
  auto address = transport::SocketAddress::parse(plan_.path.front().node);
  if (!address) return fail(std::move(address).error());
  auto connector = transport::Connector::open(
      context_, transport::address_of(*address, transport::Purpose::aggregation),
      transport::Purpose::aggregation);
  if (!connector) return fail(std::move(connector).error());
  connector_ = std::move(*connector);
  return {};
}

void NodeJoiner::give_up(std::string reason) {
  if (state_ == State::failed) return;
  state_ = State::failed;
  reason_ = std::move(reason);
}

NodeJoiner::State NodeJoiner::progress() {
  if (state_ == State::failed) return state_;
  step();
  if (state_ == State::working && accepted_ && has_slots_) state_ = State::joined;
  if (state_ == State::working && deadline_.passed()) {
    give_up(format_text("node %s did not %s within %g s: is sluice-agg running there?",
                        plan_.path.front().node.c_str(),
                        connection_ == nullptr ? "answer" : "take the group in",
                        in_seconds(budget_)));
  }
  return state_;
}

void NodeJoiner::step() {
  if (connection_ == nullptr) {
    auto connection = connector_->progress();
    if (!connection) {
      give_up("node " + plan_.path.front().node +
              " cannot be reached: " + connection.error().message);
      return;
    }
    if (*connection == nullptr) return;
    connection_ = std::move(*connection);
    connector_.reset();
    if (const Status sent = on_connected(); !sent) give_up(sent.error().message);
  }
  const Status status = connection_->progress(*this);
  if (status || !trouble_.empty() || !reason_.empty()) return;
  const std::string lost =
      "node " + plan_.path.front().node + " was lost: " + status.error().message;
  // Once it has voted yes, a rank is bound: the decision comes first, the trouble afterwards.
  if (state_ == State::joined) {
    trouble_ = lost;
  } else {
    give_up(lost);
  }
}

Status NodeJoiner::on_connected() {
  Join join;
  join.shape = plan_.shape;
  join.path = plan_.path;
  join.ranks = {{rank_, 1}};
  join.host = this_process();
  join.job = plan_.job;
  join.token = plan_.token;
  return connection_->send_message(encode(join), {});
}

NodeJoiner::Session NodeJoiner::take() {
  const Hop& leaf = plan_.path.front();
  return {std::move(connection_), slots_, leaf.node, leaf.child, std::move(trouble_), culprit_};
}

Status NodeJoiner::on_announcement(std::span<const transport::RemoteWindow> windows,
                                   std::span<const std::byte>) {
  const uint64_t size = uint64_t{plan_.shape.window} * plan_.shape.chunk_bytes;
  if (has_slots_ || windows.size() != 1 || windows[0].id != kSlotWindow ||
      windows[0].size != size) {
    return fail(ErrorKind::remote, "the node announced other slots than were agreed");
  }
  slots_ = windows[0];
  has_slots_ = true;
  return {};
}

Status NodeJoiner::on_message(std::span<const std::byte> message) {
  auto envelope = open_envelope(message);
  if (!envelope) return fail(std::move(envelope).error());
  if (envelope->type == MessageType::refused) {
    auto refused = decode<Refused>(*envelope);
    if (!refused) return fail(std::move(refused).error());
    give_up("node " + plan_.path.front().node + " " + refused->sentence);
    return {};
  }
  if (envelope->type == MessageType::group_error) {
    auto error = decode<GroupError>(*envelope);
    if (!error) return fail(std::move(error).error());
    const std::string sentence =
        "node " + plan_.path.front().node + " ended the group: " + error->sentence;
    culprit_ = error->member;
    if (state_ == State::joined) {
      trouble_ = sentence;
    } else {
      give_up(sentence);
    }
    return {};
  }
  auto joined = decode<Joined>(*envelope);
  if (!joined) return fail(std::move(joined).error());
  if (joined->child != plan_.path.front().child)
    return fail(ErrorKind::remote, "the node took in another rank");
  accepted_ = true;
  return {};
}

Status NodeJoiner::on_arrival(transport::WindowId, uint64_t, uint64_t, std::span<const std::byte>) {
  return fail(ErrorKind::remote, "the node sent a result before there was an operation");
}

Status NodeJoiner::on_written(uint64_t) {
  return {};
}

}  // namespace sluice::sharp
