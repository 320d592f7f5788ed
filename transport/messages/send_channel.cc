// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>
#include <vector>

#include "transport/messages/channel.h"
#include "transport/messages/format.h"
#include "transport/messages/matching.h"

namespace sluice::transport {
namespace {

class SendChannelOnConnection final : public SendChannel, private ConnectionHandler {
 public:
  explicit SendChannelOnConnection(std::unique_ptr<Connection> connection)
      : SendChannel(std::move(connection)),
        sends_(kMaxSends),
        groups_(kMaxReceiveGroups),
        matcher_([this](const Matcher::Match& match) { post_write(match); }) {
    free_.reserve(kMaxSends);
    for (uint32_t index = kMaxSends; index-- > 0;) free_.push_back(index);
  }

  Result<Request*> send(const void* data, size_t size, int tag,
                        const MemoryRegion* region) override {
    SLUICE_RETURN_IF_ERROR(connection_->status());
    reclaim();
    if (free_.empty()) return nullptr;
    const uint32_t index = free_.back();
    free_.pop_back();
    Send& send = sends_[index];
    send.request = {this, true, false, 1, 1, {}};
    send.data = static_cast<const std::byte*>(data);
    send.size = size;
    send.region = region;
    matcher_.add_send(index, tag);
    SLUICE_RETURN_IF_ERROR(take_post_status());
    SLUICE_RETURN_IF_ERROR(connection_->flush());
    return &send.request;
  }

 private:
  struct Send {
    Request request;
    const std::byte* data = nullptr;
    size_t size = 0;
    const MemoryRegion* region = nullptr;
  };
  struct Group {
    uint32_t generation = 0;
    std::array<RemoteWindow, kMaxGroup> windows{};
  };

  Status progress() override {
    SLUICE_RETURN_IF_ERROR(connection_->progress(*this));
    if (!std::exchange(posted_, false)) return {};
    return connection_->flush();
  }

  // Requests are given back by Channel::test(), which knows no free list.
  void reclaim() {
    if (!free_.empty()) return;
    for (uint32_t index = kMaxSends; index-- > 0;) {
      if (!sends_[index].request.in_use) free_.push_back(index);
    }
  }

  void post_write(const Matcher::Match& match) {
    Send& send = sends_[match.send];
    const Group& group = groups_[match.group];
    const RemoteWindow& window = group.windows[match.buffer];
    MessageRecord record;
    record.slot = static_cast<uint16_t>(match.group);
    record.buffer = static_cast<uint16_t>(match.buffer);
    record.generation = group.generation;
    record.size = std::min<uint64_t>(send.size, window.size);
    send.request.sizes[0] = record.size;
    Write write;
    write.window = window;
    write.data = send.data;
    write.size = record.size;
    write.region = send.region;
    write.record = bytes_of(record);
    write.token = match.send;
    const Status status = connection_->write(write);
    if (!status && post_status_) post_status_ = status;
    posted_ = true;
  }

  Status take_post_status() { return std::exchange(post_status_, Status{}); }

  Status on_announcement(std::span<const RemoteWindow> windows,
                         std::span<const std::byte> note) override {
    GroupNote group_note;
    if (!read_into(group_note, note) || group_note.slot >= kMaxReceiveGroups ||
        group_note.count == 0 || group_note.count > kMaxGroup ||
        group_note.count != windows.size() ||
        matcher_.open_groups() >= static_cast<size_t>(kMaxReceiveGroups)) {
      return fail(ErrorKind::remote, "peer " + connection_->peer() +
                                         " announced a malformed receive (different version?)");
    }
    Group& group = groups_[group_note.slot];
    group.generation = group_note.generation;
    std::copy(windows.begin(), windows.end(), group.windows.begin());
    matcher_.add_group(group_note.slot, std::span(group_note.tags, group_note.count));
    return take_post_status();
  }

  Status on_message(std::span<const std::byte>) override {
    return fail(ErrorKind::remote,
                "peer " + connection_->peer() + " sent an unexpected message on a send channel");
  }

  Status on_arrival(WindowId, uint64_t, uint64_t, std::span<const std::byte>) override {
    return fail(ErrorKind::remote, "peer " + connection_->peer() + " wrote into a send channel");
  }

  Status on_written(uint64_t token) override {
    Request& request = sends_[token].request;
    request.remaining = 0;
    request.done = true;
    return {};
  }

  std::vector<Send> sends_;     // fixed size: requests keep their address
  std::vector<uint32_t> free_;  // indices of sends_ not in use, as far as known
  std::vector<Group> groups_;   // by the receiver's slot
  Matcher matcher_;
  Status post_status_;
  bool posted_ = false;
};

}  // namespace

std::unique_ptr<SendChannel> SendChannel::create(std::unique_ptr<Connection> connection) {
  return std::make_unique<SendChannelOnConnection>(std::move(connection));
}

}  // namespace sluice::transport
