// SPDX-License-Identifier: Apache-2.0
#include "sharp/agg/child.h"

#include <utility>

#include "sharp/wire/chunk.h"

namespace sluice::sharp {
namespace {

constexpr auto kTimeToJoin = std::chrono::seconds(10);
// How long the last words of a group may take to reach a member that does not close.
constexpr auto kTimeToEnd = std::chrono::seconds(5);

}  // namespace

Child::Child(uint64_t id, std::unique_ptr<transport::Connection> connection, ChildOwner& owner)
    : id_(id),
      owner_(owner),
      connection_(std::move(connection)),
      deadline_(Deadline::after(kTimeToJoin)) {}

Child::~Child() {
  if (group_ != nullptr) group_->detach(rank_);
}

bool Child::drive() {
  const auto before = connection_->counters();
  const Status status = connection_->progress(*this);
  if (!status) {
    lost(status.error().message);
    return true;
  }
  const auto after = connection_->counters();
  return after.bytes_sent != before.bytes_sent || after.bytes_received != before.bytes_received;
}

bool Child::finished() const {
  return finished_ || ((group_ == nullptr || ending_) && deadline_.passed());
}

void Child::end() {
  if (ending_) return;
  ending_ = true;
  deadline_ = Deadline::after(kTimeToEnd);
}

void Child::lost(const std::string& reason) {
  if (finished_) return;
  finished_ = true;
  if (group_ != nullptr) {
    group_->lose(rank_, reason);
  } else if (!ending_) {
    complaint_ = reason;
  }
}

Status Child::on_announcement(std::span<const transport::RemoteWindow> windows,
                              std::span<const std::byte> note) {
  if (group_ == nullptr) return fail(ErrorKind::remote, "announced windows before it joined");
  auto operation = decode_result_note(note);
  if (!operation) return fail(std::move(operation).error());
  for (const auto& window : windows) group_->on_result_window(rank_, window, *operation);
  return {};
}

Status Child::on_message(std::span<const std::byte> message) {
  if (starts_as_chunk(message)) {
    if (group_ == nullptr) return fail(ErrorKind::remote, "sent a chunk before it joined");
    if (message.size() < kChunkHeaderSize) return fail(ErrorKind::remote, "sent half a chunk");
    auto header = decode_chunk(message.first(kChunkHeaderSize));
    if (!header) return fail(std::move(header).error());
    group_->on_latency(rank_, *header, message.subspan(kChunkHeaderSize));
    return {};
  }
  auto envelope = open_envelope(message);
  if (!envelope) return fail(std::move(envelope).error());
  if (envelope->type == MessageType::leave && group_ != nullptr) {
    auto leave = decode<Leave>(*envelope);
    if (!leave) return fail(std::move(leave).error());
    group_->leave(rank_);
    finished_ = true;
    return {};
  }
  auto join = decode<Join>(*envelope);
  if (!join) return fail(std::move(join).error());
  return on_join(*join);
}

Status Child::on_join(const Join& join) {
  if (group_ != nullptr || ending_) return fail(ErrorKind::remote, "sent a second join");
  const Admission group = owner_.admit(join);
  if (!group) {
    end();
    touch();
    return connection_->send_message(encode(group.error()), {});
  }
  group_ = *group;
  rank_ = join.child();
  deadline_ = Deadline();
  return group_->join(join, *this);
}

Status Child::on_arrival(transport::WindowId window, uint64_t offset, uint64_t size,
                         std::span<const std::byte> record) {
  if (group_ == nullptr) return fail(ErrorKind::remote, "wrote a chunk before it joined");
  auto header = decode_chunk(record);
  if (!header) return fail(std::move(header).error());
  group_->on_streaming(rank_, *header, window, offset, size);
  return {};
}

Status Child::on_written(uint64_t token) {
  if (group_ != nullptr) group_->on_written(rank_, token);
  return {};
}

}  // namespace sluice::sharp
