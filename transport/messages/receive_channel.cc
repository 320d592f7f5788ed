// SPDX-License-Identifier: Apache-2.0
#include <utility>
#include <vector>

#include "transport/messages/channel.h"
#include "transport/messages/format.h"

namespace sluice::transport {
namespace {

class ReceiveChannelOnConnection final : public ReceiveChannel, private ConnectionHandler {
 public:
  explicit ReceiveChannelOnConnection(std::unique_ptr<Connection> connection)
      : ReceiveChannel(std::move(connection)), receives_(kMaxReceiveGroups) {}

  Result<Request*> receive(std::span<const ReceiveBuffer> buffers) override {
    SLUICE_RETURN_IF_ERROR(connection_->status());
    if (buffers.empty() || buffers.size() > static_cast<size_t>(kMaxGroup)) {
      return fail(
          ErrorKind::invalid_argument,
          format_text("a grouped receive has 1 to %d buffers, not %zu", kMaxGroup, buffers.size()));
    }
    Receive* receive = find_free();
    if (receive == nullptr) return nullptr;
    const int count = static_cast<int>(buffers.size());
    receive->request = {this, true, false, count, count, {}};
    ++receive->generation;
    SLUICE_RETURN_IF_ERROR(announce(*receive, buffers));
    SLUICE_RETURN_IF_ERROR(connection_->flush());
    return &receive->request;
  }

 private:
  struct Receive {
    Request request;
    uint32_t generation = 0;
    std::array<bool, kMaxGroup> arrived{};
  };

  Status progress() override { return connection_->progress(*this); }

  // Slots are taken round robin, so that a generation lives as long as possible.
  Receive* find_free() {
    for (int tried = 0; tried < kMaxReceiveGroups; ++tried) {
      Receive& receive = receives_[next_slot_];
      next_slot_ = (next_slot_ + 1) % kMaxReceiveGroups;
      if (!receive.request.in_use) return &receive;
    }
    return nullptr;
  }

  Status announce(Receive& receive, std::span<const ReceiveBuffer> buffers) {
    const auto slot = static_cast<uint16_t>(&receive - receives_.data());
    std::array<LocalWindow, kMaxGroup> windows;
    GroupNote note;
    note.slot = slot;
    note.count = static_cast<uint16_t>(buffers.size());
    note.generation = receive.generation;
    for (size_t index = 0; index < buffers.size(); ++index) {
      const ReceiveBuffer& buffer = buffers[index];
      windows[index] = {window_of(slot, static_cast<uint32_t>(index)),
                        static_cast<std::byte*>(buffer.data), buffer.size, buffer.region};
      note.tags[index] = buffer.tag;
      receive.arrived[index] = false;
    }
    return connection_->announce(std::span(windows.data(), buffers.size()), bytes_of(note));
  }

  Status on_announcement(std::span<const RemoteWindow>, std::span<const std::byte>) override {
    return fail(ErrorKind::remote,
                "peer " + connection_->peer() + " announced memory to a receive channel");
  }

  Status on_message(std::span<const std::byte>) override {
    return fail(ErrorKind::remote,
                "peer " + connection_->peer() + " sent an unexpected message on a receive channel");
  }

  Status on_arrival(WindowId window, uint64_t offset, uint64_t size,
                    std::span<const std::byte> bytes) override {
    MessageRecord record;
    if (!read_into(record, bytes) || record.slot >= kMaxReceiveGroups ||
        record.buffer >= kMaxGroup || window != window_of(record.slot, record.buffer) ||
        offset != 0 || size != record.size) {
      return malformed();
    }
    Receive& receive = receives_[record.slot];
    Request& request = receive.request;
    if (!request.in_use || request.done || record.generation != receive.generation ||
        record.buffer >= request.count || receive.arrived[record.buffer]) {
      return malformed();
    }
    connection_->withdraw(window);  // the buffer is the caller's again
    receive.arrived[record.buffer] = true;
    request.sizes[record.buffer] = size;
    if (--request.remaining == 0) request.done = true;
    return {};
  }

  Status on_written(uint64_t) override { return {}; }  // a receive channel never writes

  Status malformed() const {
    return fail(ErrorKind::remote,
                "peer " + connection_->peer() + " sent a message that fits no receive");
  }

  std::vector<Receive> receives_;  // fixed size: requests keep their address
  int next_slot_ = 0;
};

}  // namespace

std::unique_ptr<ReceiveChannel> ReceiveChannel::create(std::unique_ptr<Connection> connection) {
  return std::make_unique<ReceiveChannelOnConnection>(std::move(connection));
}

}  // namespace sluice::transport
