// SPDX-License-Identifier: Apache-2.0
#include "sharp/agg/upstream.h"

#include <utility>

#include "sharp/wire/limits.h"

namespace sluice::sharp {
namespace {

// How long the last words may take to reach a parent that does not close.
constexpr auto kTimeToPart = std::chrono::seconds(5);

}  // namespace

Upstream::Upstream(LinkOwner& loop, UpstreamOwner& owner, Join join,
                   std::unique_ptr<transport::Connector> connector, std::span<std::byte> memory,
                   std::span<std::byte> results, Faults& faults)
    : loop_(loop),
      owner_(owner),
      join_(std::move(join)),
      connector_(std::move(connector)),
      memory_(memory),
      results_(results),
      faults_(faults) {}

bool Upstream::drive() {
  if (finished_) return false;
  if (connection_ == nullptr) {
    auto connection = connector_->progress();
    if (!connection) {
      lost(connection.error().message);
      return true;
    }
    if (*connection == nullptr) return false;
    connection_ = std::move(*connection);
    connector_.reset();
    if (const Status joined = on_connected(); !joined) {
      lost(joined.error().message);
      return true;
    }
    loop_.watch(*this);
  }
  const auto before = connection_->counters();
  if (const Status status = connection_->progress(*this); !status) {
    lost(status.error().message);
    return true;
  }
  const auto after = connection_->counters();
  return after.bytes_sent != before.bytes_sent || after.bytes_received != before.bytes_received;
}

bool Upstream::finished() const {
  return finished_ || (ending_ && (connection_ == nullptr || end_.passed()));
}

Status Upstream::on_connected() {
  auto region =
      connection_->register_memory(memory_.data(), memory_.size(), transport::MemoryType::host);
  if (!region) return fail(std::move(region).error());
  region_ = std::move(*region);
  SLUICE_RETURN_IF_ERROR(connection_->send_message(encode(join_), {}));
  const transport::LocalWindow window{kSlotWindow, results_.data(), results_.size(), region_.get()};
  return connection_->announce({&window, 1}, {});
}

void Upstream::lost(const std::string& reason) {
  if (finished_) return;
  finished_ = true;
  if (!ending_) owner_.on_parent_lost(reason);
}

bool Upstream::send_chunk(const ChunkHeader& header, const std::byte* payload) {
  if (connection_ == nullptr || ending_) return false;
  loop_.activate(*this);
  const std::byte* data = payload;
  if (payload != nullptr) data = faults_.on_the_wire({payload, header.payload_bytes});
  const EncodedChunkHeader record = encode(header);
  if (payload == nullptr || header.traffic_class == TrafficClass::latency) {
    // A connection that fails here says so again when it is driven next.
    static_cast<void>(connection_->send_message(record, {data, header.payload_bytes}));
    return false;
  }
  const uint64_t slot = header.sequence % join_.shape.window;
  transport::Write write;
  write.window = slots_;
  write.offset = slot * join_.shape.chunk_bytes;
  write.data = data;
  write.size = header.payload_bytes;
  write.region = region_.get();
  write.record = record;
  write.token = slot;
  write.confirm = transport::Confirm::buffer_reusable;
  return connection_->write(write).has_value();
}

void Upstream::ask_again(const Resend& resend) {
  if (connection_ == nullptr) return;
  static_cast<void>(connection_->send_message(encode(resend), {}));
  loop_.activate(*this);
}

void Upstream::leave() {
  say_last(encode(Leave{child_number()}));
}

void Upstream::report(const GroupError& error) {
  say_last(encode(error));
}

void Upstream::say_last(const Message& message) {
  if (ending_) return;
  ending_ = true;
  end_ = Deadline::after(kTimeToPart);
  if (connection_ == nullptr || finished_) return;
  static_cast<void>(connection_->send_message(message, {}));
  static_cast<void>(connection_->flush());
  loop_.activate(*this);
}

Status Upstream::on_announcement(std::span<const transport::RemoteWindow> windows,
                                 std::span<const std::byte>) {
  const uint64_t size = uint64_t{join_.shape.window} * join_.shape.chunk_bytes;
  if (has_slots_ || windows.size() != 1 || windows[0].id != kSlotWindow ||
      windows[0].size != size) {
    return fail(ErrorKind::remote, "it announced other slots than were agreed");
  }
  slots_ = windows[0];
  has_slots_ = true;
  return {};
}

Status Upstream::on_message(std::span<const std::byte> message) {
  if (ending_) return {};
  if (starts_as_chunk(message)) return on_chunk(message);
  auto envelope = open_envelope(message);
  if (!envelope) return fail(std::move(envelope).error());
  if (envelope->type == MessageType::refused && !accepted_) {
    auto refused = decode<Refused>(*envelope);
    if (!refused) return fail(std::move(refused).error());
    owner_.on_parent_refused(*refused);
    return {};
  }
  if (envelope->type == MessageType::group_error) {
    auto error = decode<GroupError>(*envelope);
    if (!error) return fail(std::move(error).error());
    owner_.on_parent_ended(*error);
    return {};
  }
  if (envelope->type == MessageType::resend && accepted_) {
    auto resend = decode<Resend>(*envelope);
    if (!resend) return fail(std::move(resend).error());
    owner_.on_parent_resend(*resend);
    return {};
  }
  auto joined = decode<Joined>(*envelope);
  if (!joined) return fail(std::move(joined).error());
  if (accepted_ || !has_slots_ || joined->child != child_number()) {
    return fail(ErrorKind::remote, "it took in another child");
  }
  accepted_ = true;
  owner_.on_parent_joined();
  return {};
}

Status Upstream::on_chunk(std::span<const std::byte> message) {
  if (message.size() < kChunkHeaderSize) return fail(ErrorKind::remote, "it sent half a result");
  auto header = decode_chunk(message.first(kChunkHeaderSize));
  if (!header) return fail(std::move(header).error());
  owner_.on_message_result(*header, message.subspan(kChunkHeaderSize));
  return {};
}

Status Upstream::on_arrival(transport::WindowId window, uint64_t offset, uint64_t size,
                            std::span<const std::byte> record) {
  if (ending_) return {};
  auto header = decode_chunk(record);
  if (!header) return fail(std::move(header).error());
  owner_.on_written_result(*header, {window, offset, size});
  return {};
}

Status Upstream::on_written(uint64_t token) {
  if (!ending_) owner_.on_confirmed(token);
  return {};
}

}  // namespace sluice::sharp
