// SPDX-License-Identifier: Apache-2.0
#include "sharp/agg/child.h"

#include <utility>

#include "sharp/wire/chunk.h"

namespace sluice::sharp {
namespace {

constexpr auto kTimeToJoin = std::chrono::seconds(10);
// How long the last words of a group may take to reach a child that does not close.
constexpr auto kTimeToEnd = std::chrono::seconds(5);

}  // namespace

Child::Child(LinkOwner& loop, Admitter& admitter, std::unique_ptr<transport::Connection> connection)
    : loop_(loop),
      admitter_(admitter),
      connection_(std::move(connection)),
      deadline_(Deadline::after(kTimeToJoin)) {}

Child::~Child() {
  if (group_ != nullptr) group_->detach(number_);
}

bool Child::drive() {
  if (finished_) return false;
  // What a group without memory is sent stays with its senders.
  if (group_ != nullptr && !group_->may_read(woken)) return false;
  woken = false;
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
    group_->lose(number_, reason);
  } else if (!ending_) {
    complaint_ = reason;
  }
}

Status Child::on_announcement(std::span<const transport::RemoteWindow> windows,
                              std::span<const std::byte> note) {
  if (group_ == nullptr) return fail(ErrorKind::remote, "announced windows before it joined");
  if (node_) {
    for (const auto& window : windows) group_->on_node_window(number_, window);
    return {};
  }
  auto operation = decode_result_note(note);
  if (!operation) return fail(std::move(operation).error());
  for (const auto& window : windows) group_->on_window(number_, window, *operation);
  return {};
}

Status Child::on_message(std::span<const std::byte> message) {
  if (starts_as_chunk(message)) return on_chunk(message);
  auto envelope = open_envelope(message);
  if (!envelope) return fail(std::move(envelope).error());
  if (group_ != nullptr) return on_word(*envelope);
  auto join = decode<Join>(*envelope);
  if (!join) return fail(std::move(join).error());
  return on_join(*join);
}

Status Child::on_chunk(std::span<const std::byte> message) {
  if (group_ == nullptr) return fail(ErrorKind::remote, "sent a chunk before it joined");
  if (message.size() < kChunkHeaderSize) return fail(ErrorKind::remote, "sent half a chunk");
  auto header = decode_chunk(message.first(kChunkHeaderSize));
  if (!header) return fail(std::move(header).error());
  group_->on_message_chunk(number_, *header, message.subspan(kChunkHeaderSize));
  return {};
}

Status Child::on_word(const Envelope& envelope) {
  if (envelope.type == MessageType::join) return fail(ErrorKind::remote, "sent a second join");
  if (envelope.type == MessageType::resend) {
    auto resend = decode<Resend>(envelope);
    if (!resend) return fail(std::move(resend).error());
    group_->on_resend(number_, *resend);
    return {};
  }
  if (envelope.type == MessageType::group_error && node_) {
    auto error = decode<GroupError>(envelope);
    if (!error) return fail(std::move(error).error());
    group_->on_child_ended(*error);
    finished_ = true;  // it needs no answer
    return {};
  }
  auto leave = decode<Leave>(envelope);
  if (!leave) return fail(std::move(leave).error());
  group_->leave(number_);
  finished_ = true;
  return {};
}

Status Child::on_join(const Join& join) {
  if (ending_) return fail(ErrorKind::remote, "sent a second join");
  const Admission group = admitter_.admit(join);
  if (!group) {
    end();
    touch();
    return connection_->send_message(encode(group.error()), {});
  }
  group_ = *group;
  number_ = join.child();
  node_ = join.from_node != 0;
  deadline_ = Deadline();
  return group_->join(join, *this);
}

Status Child::on_arrival(transport::WindowId window, uint64_t offset, uint64_t size,
                         std::span<const std::byte> record) {
  if (group_ == nullptr) return fail(ErrorKind::remote, "wrote a chunk before it joined");
  auto header = decode_chunk(record);
  if (!header) return fail(std::move(header).error());
  group_->on_written_chunk(number_, *header, {window, offset, size});
  return {};
}

Status Child::on_written(uint64_t token) {
  if (group_ != nullptr) group_->on_confirmed(token);
  return {};
}

}  // namespace sluice::sharp
