// SPDX-License-Identifier: Apache-2.0
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "transport/tcp/stream.h"

namespace sluice::transport::tcp {

void Stream::fill_batch(Outgoing& outgoing, uint64_t landed_below) {
  size_t bytes = 0;
  for (const Frame& frame : frames_) bytes += frame.size();
  while (frames_.size() < kMaxBatchFrames && bytes < kMaxBatchBytes &&
         outgoing.has_frame(control_)) {
    Frame& frame = frames_.emplace_back();
    outgoing.next(control_, landed_below, frame);
    bytes += frame.size();
  }
}

size_t Stream::gather(std::array<iovec, 3 * kMaxBatchFrames>& parts) const {
  size_t count = 0;
  size_t skip = sent_of_first_;
  const auto add = [&](const std::byte* data, size_t size) {
    const size_t skipped = std::min(skip, size);
    skip -= skipped;
    if (size > skipped) parts[count++] = {const_cast<std::byte*>(data) + skipped, size - skipped};
  };
  for (const Frame& frame : frames_) {
    add(frame.head.data(), frame.head_size);
    add(frame.body.data(), frame.body.size());
    add(frame.payload, frame.payload_size);
  }
  return count;
}

void Stream::advance(Outgoing& outgoing, size_t sent) {
  bytes_sent_ += sent;
  sent_of_first_ += sent;
  while (!frames_.empty() && sent_of_first_ >= frames_.front().size()) {
    const Frame& frame = frames_.front();
    sent_of_first_ -= frame.size();
    if (frame.write_id) outgoing.piece_sent(*frame.write_id, frame.payload_size);
    frames_.pop_front();
  }
}

// The kernel calls a full socket writable again when a good part of its buffer is free, so that
// data goes in portions worth the call.
bool Stream::has_room() const {
  pollfd entry{socket_.get(), POLLOUT, 0};
  return ::poll(&entry, 1, 0) != 0;
}

Result<Stream::Outcome> Stream::send(Outgoing& outgoing, uint64_t landed_below) {
  fill_batch(outgoing, landed_below);
  if (frames_.empty() || (blocked_ && !has_room())) return Outcome::drained;
  std::array<iovec, 3 * kMaxBatchFrames> parts;
  msghdr message{};
  message.msg_iov = parts.data();
  message.msg_iovlen = gather(parts);
  size_t offered = 0;
  for (size_t i = 0; i < message.msg_iovlen; ++i) offered += parts[i].iov_len;
  ssize_t sent = 0;
  do sent = ::sendmsg(socket_.get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
  while (sent < 0 && errno == EINTR);
  if (sent < 0) {
    blocked_ = errno == EAGAIN || errno == EWOULDBLOCK;
    if (blocked_) return Outcome::drained;
    return fail_errno(errno, "cannot be sent to");
  }
  advance(outgoing, static_cast<size_t>(sent));
  blocked_ = static_cast<size_t>(sent) < offered;
  return blocked_ ? Outcome::drained : Outcome::more;
}

void Stream::say_goodbye(std::string_view reason) {
  if (!socket_) return;
  for (int i = 0; i < kMaxReads; ++i) {
    if (::recv(socket_.get(), staging_->data(), staging_->size(), MSG_DONTWAIT) <= 0) break;
  }
  if (mid_frame()) return;  // whatever came now would be taken for payload
  reason = reason.substr(0, kMaxGoodbye);
  FrameHeader header;
  header.type = static_cast<uint8_t>(FrameType::goodbye);
  header.head_size = static_cast<uint16_t>(reason.size());
  seal(header);
  iovec parts[2] = {{&header, sizeof header}, {const_cast<char*>(reason.data()), reason.size()}};
  msghdr message{};
  message.msg_iov = parts;
  message.msg_iovlen = 2;
  (void)!::sendmsg(socket_.get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
}

}  // namespace sluice::transport::tcp
