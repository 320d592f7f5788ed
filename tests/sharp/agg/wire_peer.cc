// SPDX-License-Identifier: Apache-2.0
#include "tests/sharp/agg/wire_peer.h"

#include <gtest/gtest.h>

#include <cstring>

#include "sharp/agg/combine.h"
#include "sharp/wire/crc32c.h"
#include "sharp/wire/geometry.h"

namespace sluice::sharp::testing {

WirePeer::WirePeer(std::unique_ptr<transport::Connection> own, const Join& join_of_peer)
    : connection(std::move(own)), join(join_of_peer) {
  stream(TrafficClass::latency).window.resize(join.shape.latency_window);
  stream(TrafficClass::streaming).window.resize(join.shape.window);
  EXPECT_TRUE(connection->send_message(encode(join), {}));
}

PeerOperation& WirePeer::post(const Call& call, Bytes input, bool no_result) {
  PeerOperation& operation = operations.emplace_back();
  operation.call = call;
  operation.input = std::move(input);
  operation.input.resize(call.bytes());
  operation.output.resize(call.bytes());
  operation.no_result = no_result;
  operation.number = operations.size() - 1;
  ChunkHeader header;
  header.type = call.type;
  header.reduce_operator = call.reduce_operator;
  header.collective = call.collective;
  const bool latency = call.traffic_class == TrafficClass::latency;
  operation.limit = latency ? static_cast<uint32_t>(call.bytes())
                            : most_bytes(join.shape.precision, header, join.shape.chunk_bytes);
  operation.chunks = chunks_of(call.bytes(), operation.limit);
  if (!latency) {
    const transport::LocalWindow window{
        static_cast<transport::WindowId>(operation.number % kMaxResultWindows),
        operation.output.data(), operation.output.size(), nullptr};
    EXPECT_TRUE(connection->announce({&window, 1}, encode_result_note(operation.number)));
  }
  stream(call.traffic_class).queue.push_back(&operation);
  return operation;
}

void WirePeer::drive() {
  if (deaf || !lost.empty() || connection == nullptr) return;
  if (const Status status = connection->progress(*this); !status) {
    lost = status.error().message;
    return;
  }
  if (!is_in()) return;
  pump(TrafficClass::latency);
  pump(TrafficClass::streaming);
}

void WirePeer::leave() {
  static_cast<void>(connection->send_message(encode(Leave{join.child()}), {}));
  static_cast<void>(connection->flush());
  connection.reset();
}

void WirePeer::pump(TrafficClass traffic_class) {
  Stream& out = stream(traffic_class);
  while (!out.queue.empty()) {
    Flight& flight = out.window[out.next % out.window.size()];
    if (flight.operation != nullptr) return;
    PeerOperation& operation = *out.queue.front();
    flight = {&operation, out.next++, operation.sent};
    send(flight);
    if (++operation.sent == operation.chunks) out.queue.pop_front();
  }
}

void WirePeer::send(const Flight& flight) {
  const PeerOperation& operation = *flight.operation;
  const Call& call = operation.call;
  const ChunkSpan span = chunk_at(call.bytes(), operation.limit, flight.chunk);
  const bool payload =
      call.collective == Collective::allreduce || call.collective == Collective::scatter ||
      (call.collective == Collective::gather && call.focus == join.ranks.front().first);
  ChunkHeader header;
  header.traffic_class = call.traffic_class;
  header.flags = operation.no_result ? kNoResult : 0;
  header.group = join.shape.group;
  header.epoch = join.shape.epoch;
  header.type = call.type;
  header.reduce_operator = call.reduce_operator;
  header.child = join.child();
  header.sequence = flight.sequence;
  header.operation = operation.number;
  header.operation_bytes = call.bytes();
  header.offset = span.offset;
  header.bytes = span.bytes;
  header.result_window = static_cast<uint32_t>(operation.number % kMaxResultWindows);
  header.collective = call.collective;
  header.focus = call.focus;
  const std::span<const std::byte> data(operation.input.data() + span.offset,
                                        payload ? span.bytes : 0);
  header.payload_bytes = static_cast<uint32_t>(data.size());
  header.payload_crc = payload ? crc32c(data) : 0;
  const EncodedChunkHeader record = encode(header);
  if (!payload || call.traffic_class == TrafficClass::latency) {
    static_cast<void>(connection->send_message(record, data));
    return;
  }
  transport::Write write;
  write.window = *slots;
  write.offset = flight.sequence % join.shape.window * join.shape.chunk_bytes;
  write.data = data.data();
  write.size = data.size();
  write.record = record;
  write.confirm = transport::Confirm::buffer_reusable;
  static_cast<void>(connection->write(write));
}

Status WirePeer::take(const ChunkHeader& header, std::span<const std::byte> payload) {
  Stream& in = stream(header.traffic_class);
  Flight& flight = in.window[header.sequence % in.window.size()];
  PeerOperation* operation = flight.operation;
  if (operation == nullptr || flight.sequence != header.sequence || header.child != join.child() ||
      operation->number != header.operation) {
    return fail(ErrorKind::remote, "an unexpected result came");
  }
  if (payload.size() != header.payload_bytes) return fail(ErrorKind::remote, "a cut result came");
  if (!payload.empty() && crc32c(payload) != header.payload_crc) {
    ++damaged;
    return connection->send_message(encode(Resend{header.traffic_class, header.sequence}), {});
  }
  std::byte* place = operation->output.data() + header.offset;
  if (!payload.empty() && payload.data() != place) {
    std::memcpy(place, payload.data(), payload.size());
  }
  operation->payloads += payload.empty() ? 0 : 1;
  ++operation->arrived;
  flight = Flight();
  return {};
}

Status WirePeer::on_announcement(std::span<const transport::RemoteWindow> windows,
                                 std::span<const std::byte>) {
  slots = windows[0];
  return {};
}

Status WirePeer::on_message(std::span<const std::byte> message) {
  if (starts_as_chunk(message)) {
    const auto header = decode_chunk(message.first(kChunkHeaderSize));
    if (!header) return fail(header.error());
    return take(*header, message.subspan(kChunkHeaderSize));
  }
  const auto envelope = open_envelope(message);
  if (!envelope) return fail(envelope.error());
  if (const auto said = decode<Refused>(*envelope)) refused = *said;
  if (const auto said = decode<GroupError>(*envelope)) group_error = *said;
  if (decode<Joined>(*envelope)) joined = true;
  if (const auto resend = decode<Resend>(*envelope)) {
    ++sent_again;
    Stream& out = stream(resend->traffic_class);
    const Flight& flight = out.window[resend->sequence % out.window.size()];
    if (flight.operation == nullptr || flight.sequence != resend->sequence) {
      return fail(ErrorKind::remote, "asked for a chunk that is not on its way");
    }
    send(flight);
  }
  return {};
}

Status WirePeer::on_arrival(transport::WindowId, uint64_t, uint64_t size,
                            std::span<const std::byte> record) {
  const auto header = decode_chunk(record);
  if (!header) return fail(header.error());
  const Stream& in = stream(header->traffic_class);
  const Flight& flight = in.window[header->sequence % in.window.size()];
  if (flight.operation == nullptr) return fail(ErrorKind::remote, "a late result was written");
  return take(*header, {flight.operation->output.data() + header->offset, size});
}

}  // namespace sluice::sharp::testing
