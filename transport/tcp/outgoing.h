// SPDX-License-Identifier: Apache-2.0
// What one tcp connection still has to send: posted messages, announcements and writes, cut into
// frames as the streams ask for them; and the writes whose confirmation is awaited. Knows no
// socket. Control frames (messages, announcements, acknowledgements) go on stream 0, in order,
// before payload; a write is cut into pieces so that control never waits behind more than a few of
// them, and so that several streams share a large one. Ownership: payload stays the caller's until
// its token is completed. Thread rule: as its connection.
#pragma once

#include <array>
#include <deque>
#include <optional>
#include <vector>

#include "transport/tcp/frame.h"

namespace sluice::transport::tcp {

struct Frame {
  std::array<std::byte, sizeof(FrameHeader) + kMaxRecord>
      head;  // header, then the record of a write
  size_t head_size = 0;
  std::vector<std::byte> body;  // of control frames
  const std::byte* payload = nullptr;
  size_t payload_size = 0;
  std::optional<uint64_t> write_id;

  size_t size() const { return head_size + body.size() + payload_size; }
};

class Outgoing {
 public:
  explicit Outgoing(size_t streams) : streams_(streams) {}

  void add_message(std::span<const std::byte> head, std::span<const std::byte> body);
  void add_announcement(std::span<const LocalWindow> windows, std::span<const std::byte> note);
  void add_write(const Write& write);
  void add_acknowledgement();

  bool has_frame(bool control) const { return (control && !control_.empty()) || may_cut(); }
  // The next frame for a stream, stamped with what has landed here so far; false: none now.
  bool next(bool control, uint64_t landed_below, Frame& frame);
  // What the newest stamped frame tells the peer.
  uint64_t stamped() const { return stamped_; }

  // The kernel has taken all of a piece.
  void piece_sent(uint64_t write_id, size_t size);
  // The peer says that all writes below `id` have landed.
  Status acknowledged(uint64_t id);
  bool has_completions() const { return !completed_.empty(); }
  std::deque<uint64_t>& completions() { return completed_; }  // tokens, for the connection to take

 private:
  struct Control {
    FrameHeader header;
    std::vector<std::byte> body;
  };
  struct PendingWrite {
    Write write;  // its record span is not used
    std::array<std::byte, kMaxRecord> record;
    size_t record_size = 0;
    size_t piece = 0;  // size of its pieces
    size_t cut = 0;    // bytes given to streams
    size_t sent = 0;   // bytes taken by the kernel
    bool all_cut = false;
    bool all_sent = false;
  };
  bool may_cut() const {
    return next_cut_ < first_id_ + writes_.size() && next_cut_ < first_id_ + kMaxUnlanded;
  }
  size_t piece_size_for(size_t size) const;
  void cut(uint64_t landed_below, Frame& frame);

  const size_t streams_;
  std::deque<Control> control_;
  std::deque<PendingWrite> writes_;  // ids from first_id_ on: not acknowledged yet
  uint64_t first_id_ = 0;
  uint64_t next_cut_ = 0;  // the write being cut
  uint64_t stamped_ = 0;
  std::deque<uint64_t> completed_;
};

}  // namespace sluice::transport::tcp
