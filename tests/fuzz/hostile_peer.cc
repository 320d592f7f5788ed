// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/hostile_peer.h"

#include <algorithm>
#include <utility>

#include "sharp/wire/crc32c.h"
#include "sharp/wire/envelope.h"

namespace sluice::fuzz {

using sharp::ChunkHeader;
using sharp::Collective;
using sharp::TrafficClass;

sharp::GroupShape small_group(uint16_t members) {
  sharp::GroupShape shape;
  shape.group[0] = 1;
  shape.epoch = 1;
  shape.members = members;
  shape.chunk_bytes = 256;
  shape.window = 2;
  shape.latency_bytes = 64;
  shape.latency_window = 2;
  return shape;
}

HostilePeer::HostilePeer(std::unique_ptr<transport::Connection> connection, uint16_t children,
                         uint16_t child, bool goes_up)
    : connection_(std::move(connection)),
      children_(children),
      child_(child),
      goes_up_(goes_up),
      own_memory_(4096),
      payload_(4096) {}

void HostilePeer::send(std::span<const std::byte> head, std::span<const std::byte> body) {
  if (connection_ == nullptr || head.size() + body.size() > transport::kMaxMessage) return;
  static_cast<void>(connection_->send_message(head, body));
}

void HostilePeer::join(uint16_t levels) {
  sharp::Join join;
  join.shape = small_group(children_);
  for (uint16_t level = 0; level <= levels; ++level) {
    const bool leaf = level == 0;
    join.path.push_back({format_text("node%u:1", unsigned{level}), leaf ? children_ : uint16_t{1},
                         leaf ? child_ : uint16_t{0}});
  }
  join.ranks = {{child_, 1}};
  join.host = "hostile";
  send(encode(join));
}

void HostilePeer::say_control(Input& input) {
  const auto type = static_cast<sharp::MessageType>(input.below(40));
  send(sharp::seal(type, input.take(input.below(250))));
}

ChunkHeader HostilePeer::chunk_of(Input& input) {
  ChunkHeader header;
  const auto shape = small_group(children_);
  header.group = shape.group;
  header.epoch = shape.epoch;
  header.child = child_;
  header.traffic_class = static_cast<TrafficClass>(input.below(2));
  header.type = static_cast<sharp::DataType>(input.below(12));
  header.reduce_operator = static_cast<sharp::ReduceOperator>(input.below(4));
  header.collective = static_cast<Collective>(input.below(4));
  header.focus = static_cast<uint16_t>(input.below(3));
  header.flags = static_cast<uint8_t>(input.below(8));
  header.sequence = sequence_;
  header.operation = sequence_ / 2;
  header.bytes = (1 + input.below(4)) * 64;
  header.operation_bytes = uint64_t{header.bytes} * 2;
  header.offset = sequence_ % 2 * header.bytes;
  header.result_window = input.below(3);
  header.payload_bytes = input.below(3) == 0 ? 0 : header.bytes;
  // Some fields as the fuzzer wants them.
  const uint32_t strange = input.below(16);
  if (strange == 1) header.sequence = input.number<uint64_t>();
  if (strange == 2) header.epoch = input.number<uint32_t>();
  if (strange == 3) header.child = input.number<uint16_t>();
  if (strange == 4) header.offset = input.number<uint64_t>();
  if (strange == 5) header.operation_bytes = input.number<uint64_t>();
  if (strange == 6) header.bytes = input.number<uint32_t>();
  if (strange == 7) header.result_window = input.number<uint32_t>();
  if (strange == 8) header.payload_bytes = input.number<uint32_t>();
  if (strange == 9) header.operation = input.number<uint64_t>();
  if (strange == 10) header.focus = input.number<uint16_t>();
  if (strange != 11) ++sequence_;
  return header;
}

void HostilePeer::say_chunk(Input& input) {
  ChunkHeader header = chunk_of(input);
  const size_t payload_bytes = std::min<size_t>(header.payload_bytes, payload_.size());
  const auto payload = std::span<const std::byte>(payload_).first(payload_bytes);
  header.payload_crc = sharp::crc32c(payload);
  if (input.below(16) == 1) ++header.payload_crc;
  const sharp::EncodedChunkHeader record = encode(header);
  if (header.traffic_class == TrafficClass::latency || payload.empty() || windows_.empty() ||
      input.below(16) == 1) {
    send(record, payload);
    return;
  }
  transport::Write write;
  write.window = windows_[input.below(static_cast<uint32_t>(windows_.size()))];
  const bool to_slot = goes_up_;
  write.offset = to_slot ? header.sequence % 2 * 256 : header.offset;
  if (input.below(16) == 1) write.offset = input.number<uint16_t>();
  if (write.offset > write.window.size || payload.size() > write.window.size - write.offset) return;
  write.data = payload.data();
  write.size = payload.size();
  write.record = record;
  if (connection_ != nullptr) static_cast<void>(connection_->write(write));
}

void HostilePeer::announce(Input& input) {
  if (connection_ == nullptr) return;
  const transport::LocalWindow window{input.below(4), own_memory_.data(), 64 * (1 + input.below(8)),
                                      nullptr};
  const auto note = sharp::encode_result_note(input.below(4));
  const auto raw = input.take(input.below(20));
  const bool right = input.below(4) != 1;
  static_cast<void>(
      connection_->announce({&window, 1}, right ? std::span<const std::byte>(note) : raw));
}

void HostilePeer::act(Input& input) {
  switch (input.below(8)) {
    case 0:
      send(input.take(input.below(250)));
      break;
    case 1:
      say_control(input);
      break;
    case 2:
      announce(input);
      break;
    case 3:
      send(encode(sharp::Resend{static_cast<TrafficClass>(input.below(3)), input.below(6)}));
      break;
    case 4:
      send(encode(sharp::Leave{child_}));
      break;
    default:
      say_chunk(input);
  }
}

void HostilePeer::drive() {
  if (connection_ != nullptr && !connection_->progress(*this)) hang_up();
}

Status HostilePeer::on_announcement(std::span<const transport::RemoteWindow> windows,
                                    std::span<const std::byte>) {
  for (const auto& window : windows) {
    if (windows_.size() < 16) windows_.push_back(window);
  }
  return {};
}

Status HostilePeer::on_message(std::span<const std::byte>) {
  return {};
}

Status HostilePeer::on_arrival(transport::WindowId, uint64_t, uint64_t,
                               std::span<const std::byte>) {
  return {};
}

Status HostilePeer::on_written(uint64_t) {
  return {};
}

}  // namespace sluice::fuzz
