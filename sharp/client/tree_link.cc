// SPDX-License-Identifier: Apache-2.0
#include "sharp/client/tree_link.h"

#include <unistd.h>

#include <utility>

#include "sharp/wire/crc32c.h"

namespace sluice::sharp {

TreeLink::TreeLink(const GroupShape& shape, NodeJoiner::Session session, Receiver& receiver)
    : shape_(shape),
      node_(std::move(session.node)),
      child_(session.child),
      receiver_(receiver),
      process_(::getpid()),
      connection_(std::move(session.connection)),
      slots_(session.slots),
      culprit_(session.culprit) {
  if (!session.trouble.empty()) ended_ = Error{ErrorKind::remote, 0, std::move(session.trouble)};
}

TreeLink::~TreeLink() = default;

void TreeLink::leave() {
  if (::getpid() != process_ || ended_) return;
  // Best effort: the node notices the close as well.
  static_cast<void>(connection_->send_message(encode(Leave{child_}), {}));
  static_cast<void>(connection_->flush());
}

Result<bool> TreeLink::send(ChunkHeader header, const Payload& payload) {
  header.group = shape_.group;
  header.epoch = shape_.epoch;
  header.child = child_;
  const std::span<const std::byte> bytes(payload.data, header.payload_bytes);
  header.payload_crc = checks_payloads() ? crc32c(bytes) : 0;
  const EncodedChunkHeader record = encode(header);
  if (header.traffic_class == TrafficClass::latency || bytes.empty()) {
    SLUICE_RETURN_IF_ERROR(connection_->send_message(record, bytes));
    return false;
  }
  transport::Write write;
  write.window = slots_;
  write.offset = header.sequence % shape_.window * shape_.chunk_bytes;
  write.data = payload.data;
  write.size = bytes.size();
  write.region = payload.region;
  write.record = record;
  write.token = payload.token;
  write.confirm = transport::Confirm::buffer_reusable;
  SLUICE_RETURN_IF_ERROR(connection_->write(write));
  return true;
}

Status TreeLink::announce_result(const transport::LocalWindow& window, uint64_t operation) {
  return connection_->announce({&window, 1}, encode_result_note(operation));
}

Status TreeLink::request_resend(TrafficClass traffic_class, uint64_t sequence) {
  return connection_->send_message(encode(Resend{traffic_class, sequence}), {});
}

Status TreeLink::progress() {
  if (ended_) return fail(*ended_);
  const Status status = connection_->progress(*this);
  if (ended_) return fail(*ended_);  // says more than the close that follows it
  if (status) return {};
  return fail(Error{status.error().kind, status.error().system_errno,
                    "node " + node_ + ": " + status.error().message});
}

Status TreeLink::on_chunk(std::span<const std::byte> record, const Arrival& arrival) {
  const auto header = decode_chunk(record);
  if (!header) return fail(header.error());
  if (header->group != shape_.group || header->epoch != shape_.epoch || header->child != child_) {
    return fail(ErrorKind::remote, "a result of another group, epoch or child came");
  }
  return receiver_.on_result(*header, arrival);
}

Status TreeLink::on_arrival(transport::WindowId window, uint64_t offset, uint64_t size,
                            std::span<const std::byte> record) {
  Arrival arrival;
  arrival.written = true;
  arrival.window = window;
  arrival.offset = offset;
  arrival.size = size;
  return on_chunk(record, arrival);
}

Status TreeLink::on_message(std::span<const std::byte> message) {
  if (!starts_as_chunk(message)) return on_control(message);
  if (message.size() < kChunkHeaderSize) return fail(ErrorKind::remote, "half a chunk came");
  Arrival arrival;
  arrival.payload = message.subspan(kChunkHeaderSize);
  return on_chunk(message.first(kChunkHeaderSize), arrival);
}

Status TreeLink::on_control(std::span<const std::byte> message) {
  auto envelope = open_envelope(message);
  if (!envelope) return fail(std::move(envelope).error());
  if (envelope->type == MessageType::resend) {
    const auto resend = decode<Resend>(*envelope);
    if (!resend) return fail(resend.error());
    if (static_cast<int>(resend->traffic_class) >= kTrafficClasses) {
      return fail(ErrorKind::remote, "a chunk of an unknown class is wanted again");
    }
    return receiver_.on_resend(resend->traffic_class, resend->sequence);
  }
  auto error = decode<GroupError>(*envelope);
  if (!error) return fail(std::move(error).error());
  culprit_ = error->member;
  ended_ = Error{ErrorKind::remote, 0, "node " + node_ + " ended the group: " + error->sentence};
  return {};
}

Status TreeLink::on_announcement(std::span<const transport::RemoteWindow>,
                                 std::span<const std::byte>) {
  return fail(ErrorKind::remote, "the node announced slots twice");
}

Status TreeLink::on_written(uint64_t token) {
  receiver_.on_sent(token);
  return {};
}

}  // namespace sluice::sharp
