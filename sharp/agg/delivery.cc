// SPDX-License-Identifier: Apache-2.0
#include "sharp/agg/delivery.h"

#include "sharp/wire/limits.h"

namespace sluice::sharp {

using transport::Confirm;
using transport::RemoteWindow;
using transport::Write;

void Delivery::attach(uint16_t child, ChildPort& port, bool node,
                      const transport::MemoryRegion* region) {
  targets_[child] = {&port, node, region, {}, {}};
}

void Delivery::detach(uint16_t child) {
  targets_[child] = Target();
}

Status Delivery::send(uint16_t child, ResultSlot& result, uint32_t result_window) {
  Target& target = targets_[child];
  if (target.port == nullptr) return {};
  const bool payload = result.data != nullptr && (result.wants >> child & 1) != 0;
  ChunkHeader header = result.header;
  header.child = child;
  header.result_window = result_window;
  if (!payload) header.payload_bytes = header.payload_crc = 0;
  if (payload && header.traffic_class == TrafficClass::streaming) {
    return write(child, header, result);
  }
  std::span<const std::byte> body;
  if (payload) body = {faults_.on_the_wire({result.data, header.bytes}), header.bytes};
  // A connection that fails here says so again when it is driven next: its owner deals with it.
  static_cast<void>(target.port->connection().send_message(encode(header), body));
  target.port->touch();
  return {};
}

void Delivery::ask_again(uint16_t child, const Resend& resend) {
  Target& target = targets_[child];
  if (target.port == nullptr) return;
  static_cast<void>(target.port->connection().send_message(encode(resend), {}));
  target.port->touch();
}

Status Delivery::write(uint16_t child, const ChunkHeader& header, ResultSlot& result) {
  Target& target = targets_[child];
  const uint32_t id = target.node ? kSlotWindow : header.result_window;
  const bool announced = id < target.windows.size() && target.windows[id].announced &&
                         (target.node || target.windows[id].operation == header.operation);
  if (!announced) {
    target.waiting.push_back({header, &result});  // the announcement is still on its way
    ++result.outstanding;
    return {};
  }
  const RemoteWindow& window = target.windows[id].window;
  if (!target.node && window.size != header.operation_bytes) {
    return fail(ErrorKind::remote,
                format_text("announced %llu bytes for results of %llu",
                            static_cast<unsigned long long>(window.size),
                            static_cast<unsigned long long>(header.operation_bytes)));
  }
  const uint64_t slot = header.sequence % shape_.window;
  const EncodedChunkHeader record = encode(header);
  Write write;
  write.window = window;
  write.offset = target.node ? slot * shape_.chunk_bytes : header.offset;
  write.data = faults_.on_the_wire({result.data, header.bytes});
  write.size = header.bytes;
  write.region = target.region;
  write.record = record;
  write.token = slot;
  write.confirm = Confirm::buffer_reusable;
  // As above.
  if (target.port->connection().write(write)) ++result.outstanding;
  target.port->touch();
  return {};
}

Status Delivery::retry(uint16_t child) {
  std::vector<Waiting> waiting;
  waiting.swap(targets_[child].waiting);
  for (const Waiting& one : waiting) {
    --one.result->outstanding;
    SLUICE_RETURN_IF_ERROR(write(child, one.header, *one.result));
  }
  return {};
}

Status Delivery::on_window(uint16_t child, const RemoteWindow& window, uint64_t operation) {
  if (window.id >= kMaxResultWindows) {
    return fail(ErrorKind::remote,
                format_text("announced result window %u of %u", window.id, kMaxResultWindows));
  }
  Target& target = targets_[child];
  if (target.windows.size() <= window.id) target.windows.resize(window.id + 1);
  target.windows[window.id] = {window, operation, true};
  return retry(child);
}

Status Delivery::on_node_window(uint16_t child, const RemoteWindow& window) {
  Target& target = targets_[child];
  if (!target.windows.empty() || window.id != kSlotWindow ||
      window.size != uint64_t{shape_.window} * shape_.chunk_bytes) {
    return fail(ErrorKind::remote, "announced other memory for results than was agreed");
  }
  target.windows.push_back({window, 0, true});
  return retry(child);
}

}  // namespace sluice::sharp
