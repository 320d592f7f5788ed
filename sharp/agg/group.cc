// SPDX-License-Identifier: Apache-2.0
#include "sharp/agg/group.h"

#include <utility>

#include "sharp/agg/node.h"

namespace sluice::sharp {
Group::Group(const Logger& logger, const GroupShape& shape, MemoryPool::Lease memory,
             Duration join_timeout, DataCounters& counters)
    : logger_(logger),
      shape_(shape),
      lease_(std::move(memory)),
      join_timeout_(join_timeout),
      lease_end_(Deadline::after(join_timeout)),
      reducer_(shape, lease_.memory(), counters),
      members_(shape.members) {}

GroupReport Group::report() const {
  return {shape_.group, shape_.epoch, shape_.members, job_, memory(), memory(), since_};
}

std::string Group::description() const {
  return format_text("group %s of %u ranks, first from %s", text_of(shape_.group).c_str(),
                     unsigned{shape_.members}, first_host_.c_str());
}

std::string Group::who(uint16_t rank) const {
  return format_text("rank %u (%s)", unsigned{rank}, members_[rank].host.c_str());
}

std::optional<Refused> Group::objection_to(const Join& join) const {
  if (over_ || left_ > 0) return Refused{RefusalCode::late, "has ended this group already"};
  if (join.shape != shape_) {
    return Refused{
        RefusalCode::shape,
        format_text("got another shape of the group from rank %u than from the first rank",
                    unsigned{join.child()})};
  }
  if (members_[join.child()].joined) {
    return Refused{RefusalCode::duplicate,
                   format_text("has rank %u already, from %s", unsigned{join.child()},
                               members_[join.child()].host.c_str())};
  }
  return std::nullopt;
}

Status Group::join(const Join& join, MemberPort& port) {
  Member& member = members_[join.child()];
  member.port = &port;
  member.host = join.host;
  member.joined = true;
  ++attached_;
  if (joined_++ == 0) {
    first_host_ = join.host;
    job_ = join.job;
  }
  const Message joined = encode(Joined{join.child()});
  SLUICE_RETURN_IF_ERROR(port.connection().send_message(joined, {}));
  SLUICE_RETURN_IF_ERROR(reducer_.attach(join.child(), port));
  if (joined_ == shape_.members) {
    lease_end_ = Deadline();
    SLUICE_INFO(logger_, collective, "%s formed: chunk %u bytes, window %u, latency up to %u bytes",
                description().c_str(), shape_.chunk_bytes, shape_.window, shape_.latency_bytes);
  }
  return {};
}

bool Group::takes_chunks(uint16_t rank) {
  if (over_) return false;
  if (joined_ < shape_.members) {
    end(rank, who(rank) + " sent data before the group was complete");
    return false;
  }
  for (uint16_t other = 0; left_ > 0 && other < shape_.members; ++other) {
    if (!members_[other].left) continue;
    end(other, who(other) + " has left, but " + who(rank) + " goes on");
    return false;
  }
  return true;
}

void Group::settle(uint16_t rank, const Status& status) {
  if (!status) end(rank, status.error().message);
}

void Group::on_streaming(uint16_t rank, const ChunkHeader& header, transport::WindowId window,
                         uint64_t offset, uint64_t size) {
  if (takes_chunks(rank)) settle(rank, reducer_.on_streaming(rank, header, window, offset, size));
}

void Group::on_latency(uint16_t rank, const ChunkHeader& header,
                       std::span<const std::byte> payload) {
  if (takes_chunks(rank)) settle(rank, reducer_.on_latency(rank, header, payload));
}

void Group::on_result_window(uint16_t rank, const transport::RemoteWindow& window,
                             uint64_t operation) {
  if (!over_) settle(rank, reducer_.on_result_window(rank, window, operation));
}

void Group::on_written(uint16_t rank, uint64_t token) {
  if (!over_) settle(rank, reducer_.on_written(rank, token));
}

void Group::leave(uint16_t rank) {
  Member& member = members_[rank];
  if (over_ || member.left) return;
  member.left = true;
  ++left_;
  reducer_.detach(rank);
  if (joined_ < shape_.members) {
    end(rank, who(rank) + " left before the group was complete");
  } else if (reducer_.has_partial()) {
    end(rank, who(rank) + " left in the middle of an operation");
  } else if (left_ == shape_.members) {
    over_ = true;
    SLUICE_INFO(logger_, collective, "%s ended: all ranks have left", description().c_str());
  }
}

void Group::lose(uint16_t rank, const std::string& reason) {
  if (members_[rank].left) return;
  end(rank, who(rank) + " was lost: " + reason);
}

void Group::detach(uint16_t rank) {
  Member& member = members_[rank];
  if (member.port == nullptr) return;
  reducer_.detach(rank);
  member.port = nullptr;
  --attached_;
}

void Group::check_lease() {
  if (over_ || !lease_end_.passed()) return;
  std::string missing;
  for (uint16_t rank = 0; rank < shape_.members; ++rank) {
    if (members_[rank].joined) continue;
    if (missing.size() > 60) {
      missing += ", ...";
      break;
    }
    missing += (missing.empty() ? "" : ", ") + std::to_string(rank);
  }
  end(kNoMember, format_text("the group was not complete within %g s: no join from rank %s",
                             in_seconds(join_timeout_), missing.c_str()));
}

void Group::end(uint16_t culprit, const std::string& sentence) {
  if (over_) return;
  over_ = true;
  SLUICE_WARN(logger_, collective, "%s ended: %s", description().c_str(), sentence.c_str());
  const Message message = encode(GroupError{culprit, sentence});
  for (Member& member : members_) {
    if (member.port == nullptr) continue;
    // A connection that is broken already is reaped when it is driven next.
    static_cast<void>(member.port->connection().send_message(message, {}));
    member.port->touch();
    member.port->end();
  }
}

}  // namespace sluice::sharp
