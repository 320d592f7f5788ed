// SPDX-License-Identifier: Apache-2.0
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "transport/tcp/stream.h"

namespace sluice::transport::tcp {

// A header with the largest head must fit behind begin_.
void Stream::make_room() {
  if (begin_ == end_) {
    begin_ = end_ = 0;
  } else if (kStaging - begin_ < sizeof(FrameHeader) + kMaxHead) {
    std::memmove(staging_->data(), staging_->data() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }
}

void Stream::received(size_t size) {
  bytes_received_ += size;
  const size_t direct = in_payload_ ? std::min(size, left_) : 0;
  target_ += direct;
  left_ -= direct;
  end_ += size - direct;
}

Result<Stream::Outcome> Stream::receive(FrameSink& sink) {
  for (int reads = 0; reads < kMaxReads && !ended_; ++reads) {
    make_room();
    iovec parts[2];
    size_t count = 0;
    size_t wanted = 0;
    if (in_payload_ && left_ > 0) parts[count++] = {target_, left_};
    parts[count++] = {staging_->data() + end_, kStaging - end_};
    for (size_t i = 0; i < count; ++i) wanted += parts[i].iov_len;
    msghdr message{};
    message.msg_iov = parts;
    message.msg_iovlen = count;
    const ssize_t size = ::recvmsg(socket_.get(), &message, MSG_DONTWAIT);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return Outcome::drained;
    if (size < 0) return fail_errno(errno, "cannot be received from");
    if (size == 0) return Outcome::ended;
    received(static_cast<size_t>(size));
    SLUICE_RETURN_IF_ERROR(parse(sink));
    if (static_cast<size_t>(size) < wanted) return Outcome::drained;
  }
  return ended_ ? Outcome::ended : Outcome::more;
}

void Stream::take_payload_from_staging() {
  const size_t size = std::min(left_, end_ - begin_);
  if (size == 0) return;
  std::memcpy(target_, staging_->data() + begin_, size);
  target_ += size;
  left_ -= size;
  begin_ += size;
}

Status Stream::parse(FrameSink& sink) {
  while (!ended_) {
    if (in_payload_) {
      take_payload_from_staging();
      if (left_ > 0) return {};
      in_payload_ = false;
      const size_t record_size = header_.head_size;
      SLUICE_RETURN_IF_ERROR(sink.deliver(header_, std::span(record_.data(), record_size)));
      continue;
    }
    auto found = parse_header(sink);
    if (!found) return fail(std::move(found).error());
    if (!*found) return {};
  }
  return {};
}

// Consumes a header and its head; false: they are not all here yet.
Result<bool> Stream::parse_header(FrameSink& sink) {
  if (end_ - begin_ < sizeof(FrameHeader)) return false;
  FrameHeader header;
  std::memcpy(&header, staging_->data() + begin_, sizeof header);
  SLUICE_RETURN_IF_ERROR(check(header));
  const size_t size = sizeof header + header.head_size;
  if (end_ - begin_ < size) return false;
  const std::span<const std::byte> head(staging_->data() + begin_ + sizeof header,
                                        header.head_size);
  begin_ += size;
  if (static_cast<FrameType>(header.type) == FrameType::write) {
    auto target = sink.place(header);
    if (!target) return fail(std::move(target).error());
    header_ = header;
    target_ = *target;
    left_ = header.piece_size;
    if (!head.empty()) std::memcpy(record_.data(), head.data(), head.size());
    in_payload_ = true;
    return true;
  }
  if (static_cast<FrameType>(header.type) == FrameType::goodbye) ended_ = true;
  SLUICE_RETURN_IF_ERROR(sink.deliver(header, head));
  return true;
}

}  // namespace sluice::transport::tcp
