// SPDX-License-Identifier: Apache-2.0
// A group whose tree stands: what its data path may see, its memory, and its end.
#include "sharp/agg/group.h"

namespace sluice::sharp {

bool Group::deserted() const {
  return over() && attached_ == 0 && (upstream_ == nullptr || upstream_->finished());
}

bool Group::may_read(bool something_has_come) {
  if (state_ != State::active || memory_.active()) return true;
  if (hungry_since_) return false;
  // When nothing is known to have come the connection is only asked whether it lives.
  return !something_has_come || feed();
}

bool Group::feed() {
  if (over() || memory_.activate()) {
    hungry_since_.reset();
    last_activity_ = Clock::now();
    return true;
  }
  if (!hungry_since_) hungry_since_ = Clock::now();
  return false;
}

bool Group::takes_chunks(uint16_t child) {
  if (over()) return false;
  if (state_ != State::active) {
    end(children_[child].rank(),
        children_[child].full_name() + " sent data before the group was complete");
    return false;
  }
  for (uint16_t other = 0; left_ > 0 && other < seats_.size(); ++other) {
    if (!seats_[other].left) continue;
    end(children_[other].rank(), children_[other].full_name() + " has left, but " +
                                     children_[child].full_name() + " goes on");
    return false;
  }
  // What is here already is used; more is read when there is memory.
  feed();
  return true;
}

void Group::on_written_chunk(uint16_t child, const ChunkHeader& header, const WrittenAt& at) {
  if (takes_chunks(child)) data_.on_written_chunk(child, header, at);
}

void Group::on_message_chunk(uint16_t child, const ChunkHeader& header,
                             std::span<const std::byte> payload) {
  if (takes_chunks(child)) data_.on_message_chunk(child, header, payload);
}

void Group::on_window(uint16_t child, const transport::RemoteWindow& window, uint64_t operation) {
  if (!over()) data_.on_window(child, window, operation);
}

void Group::on_node_window(uint16_t child, const transport::RemoteWindow& window) {
  if (!over()) data_.on_node_window(child, window);
}

void Group::on_resend(uint16_t child, const Resend& resend) {
  if (!over()) data_.on_resend(child, resend);
}

void Group::on_confirmed(uint64_t token) {
  if (!over()) data_.on_confirmed(token);
}

void Group::on_written_result(const ChunkHeader& header, const WrittenAt& at) {
  if (!over()) data_.on_written_result(header, at);
}

void Group::on_message_result(const ChunkHeader& header, std::span<const std::byte> payload) {
  if (!over()) data_.on_message_result(header, payload);
}

void Group::on_parent_resend(const Resend& resend) {
  if (!over()) data_.on_parent_resend(resend);
}

void Group::leave(uint16_t child) {
  Seat& seat = seats_[child];
  if (over() || seat.left) return;
  seat.left = true;
  ++left_;
  data_.detach(child);
  const ChildInfo& info = children_[child];
  if (state_ != State::active) {
    end(info.rank(), info.full_name() + " left before the group was complete");
  } else if (data_.has_partial()) {
    end(info.rank(), info.full_name() + " left in the middle of an operation");
  } else if (left_ == static_cast<int>(seats_.size())) {
    state_ = State::over;
    if (upstream_ != nullptr) upstream_->leave();
    SLUICE_INFO(environment_.logger, collective, "%s ended: all ranks have left",
                description().c_str());
  }
}

void Group::lose(uint16_t child, const std::string& reason) {
  if (seats_[child].left) return;
  end(children_[child].rank(), children_[child].full_name() + " was lost: " + reason);
}

void Group::on_child_ended(const GroupError& error) {
  end(error.member, error.sentence);
}

void Group::detach(uint16_t child) {
  Seat& seat = seats_[child];
  if (seat.port == nullptr) return;
  data_.detach(child);
  seat.port = nullptr;
  --attached_;
}

void Group::tidy(const std::string& who_has_it) {
  check_time();
  const TimePoint now = Clock::now();
  if (over()) return;
  if (hungry_since_ && now - *hungry_since_ > environment_.memory_wait) {
    end(kNoMember,
        format_text("node %s had no memory for the group for %g s%s", path_.front().node.c_str(),
                    in_seconds(environment_.memory_wait), who_has_it.c_str()));
    return;
  }
  if (!memory_.active()) return;
  if (data_.activity() != seen_activity_) {
    seen_activity_ = data_.activity();
    last_activity_ = now;
  }
  if (now - last_activity_ >= environment_.idle_after && data_.quiet()) {
    data_.forget();
    memory_.rest();
  }
}

void Group::child_failed(uint16_t child, const std::string& sentence) {
  end(children_[child].rank(), children_[child].name() + " " + sentence);
}

void Group::children_disagree(uint16_t child, const std::string& sentence) {
  end(children_[child].rank(), "the ranks disagree: " + sentence);
}

void Group::parent_failed(const std::string& sentence) {
  end(kNoMember, "node " + parent()->node + " " + sentence);
}

void Group::on_parent_ended(const GroupError& error) {
  if (over()) return;
  SLUICE_WARN(environment_.logger, collective, "%s ended by node %s: %s", description().c_str(),
              parent()->node.c_str(), error.sentence.c_str());
  upstream_->leave();
  finish(encode(error));
}

void Group::on_parent_lost(const std::string& reason) {
  if (over()) return;
  const std::string sentence = "node " + parent()->node + " was lost: " + reason;
  if (state_ == State::active) {
    end(kNoMember, sentence);
  } else {
    refuse("cannot use its parent: " + sentence);
  }
}

void Group::end(uint16_t culprit, const std::string& sentence) {
  if (over()) return;
  SLUICE_WARN(environment_.logger, collective, "%s ended: %s", description().c_str(),
              sentence.c_str());
  const GroupError error{culprit, sentence};
  if (upstream_ != nullptr) upstream_->report(error);
  finish(encode(error));
}

void Group::refuse(const std::string& sentence) {
  SLUICE_WARN(environment_.logger, collective, "%s refused: this node %s", description().c_str(),
              sentence.c_str());
  if (upstream_ != nullptr) upstream_->leave();
  finish(encode(Refused{RefusalCode::parent, sentence}));
}

void Group::finish(const Message& last_words) {
  state_ = State::over;
  hungry_since_.reset();
  for (Seat& seat : seats_) {
    if (seat.port == nullptr) continue;
    // A connection that is broken already is reaped when it is driven next.
    static_cast<void>(seat.port->connection().send_message(last_words, {}));
    seat.port->touch();
    seat.port->end();
  }
}

}  // namespace sluice::sharp
