// SPDX-License-Identifier: Apache-2.0
// One socket of a tcp connection: its sending half gathers frames straight from the callers'
// buffers, its receiving half reads payload straight into the announced windows. Neither blocks.
// Thread rule: as its connection.
//
// Reading: one recvmsg() fills what is missing of the payload under way and, behind it, the staging
// buffer with the headers that follow, so that large writes cost one system call and no copy per
// piece.
#pragma once

#include <sys/uio.h>

#include <array>
#include <deque>
#include <memory>
#include <string_view>

#include "transport/file_descriptor.h"
#include "transport/tcp/outgoing.h"

namespace sluice::transport::tcp {

// Who understands frames: the connection.
class FrameSink {
 public:
  virtual ~FrameSink() = default;
  // Where the payload of a write's piece goes, or why it goes nowhere.
  virtual Result<std::byte*> place(const FrameHeader& header) = 0;
  // A frame is here, its payload in place.
  virtual Status deliver(const FrameHeader& header, std::span<const std::byte> head) = 0;
};

class Stream {
 public:
  enum class Outcome { drained, more, ended };

  Stream(FileDescriptor socket, bool control) : socket_(std::move(socket)), control_(control) {}

  int fd() const { return socket_.get(); }
  uint64_t bytes_sent() const { return bytes_sent_; }
  uint64_t bytes_received() const { return bytes_received_; }

  // Takes frames from `outgoing` and gives them to the kernel: one batch. `more` when another may
  // follow at once.
  Result<Outcome> send(Outgoing& outgoing, uint64_t landed_below);
  bool blocked() const { return blocked_; }  // the kernel took less than it was offered
  bool mid_frame() const { return sent_of_first_ > 0; }

  Result<Outcome> receive(FrameSink& sink);
  // Between two frames, with nothing read of the next one.
  bool at_boundary() const { return !in_payload_ && begin_ == end_; }
  bool writes_into(WindowId window) const { return in_payload_ && header_.window == window; }
  bool ended() const { return ended_; }
  void mark_ended() { ended_ = true; }

  // The end of an orderly connection: reads away what would make close() reset the socket, says
  // why.
  void say_goodbye(std::string_view reason);
  void close() { socket_.reset(); }

 private:
  static constexpr size_t kStaging = 16 << 10;
  static constexpr size_t kMaxBatchFrames = 16;
  static constexpr size_t kMaxBatchBytes = 1 << 20;
  static constexpr int kMaxReads = 8;

  bool has_room() const;
  void fill_batch(Outgoing& outgoing, uint64_t landed_below);
  size_t gather(std::array<iovec, 3 * kMaxBatchFrames>& parts) const;
  void advance(Outgoing& outgoing, size_t sent);

  void make_room();
  Status parse(FrameSink& sink);
  Result<bool> parse_header(FrameSink& sink);
  void take_payload_from_staging();
  void received(size_t size);

  FileDescriptor socket_;
  const bool control_;
  std::deque<Frame> frames_;
  size_t sent_of_first_ = 0;
  bool blocked_ = false;
  uint64_t bytes_sent_ = 0;

  std::unique_ptr<std::array<std::byte, kStaging>> staging_ =
      std::make_unique<std::array<std::byte, kStaging>>();
  size_t begin_ = 0;
  size_t end_ = 0;
  bool in_payload_ = false;
  bool ended_ = false;
  FrameHeader header_;  // of the write whose payload is under way
  std::array<std::byte, kMaxRecord> record_{};
  std::byte* target_ = nullptr;
  size_t left_ = 0;
  uint64_t bytes_received_ = 0;
};

}  // namespace sluice::transport::tcp
