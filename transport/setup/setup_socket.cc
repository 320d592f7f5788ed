// SPDX-License-Identifier: Apache-2.0
#include "transport/setup/setup_socket.h"

#include <sys/socket.h>

#include <algorithm>

#include "transport/checksum.h"
#include "transport/listener_address.h"

namespace sluice::transport {
namespace {

size_t body_size(SetupType type) {
  switch (type) {
    case SetupType::hello:
      return sizeof(Hello);
    case SetupType::welcome:
      return sizeof(Welcome);
    case SetupType::refuse:
      return sizeof(Refuse);
    case SetupType::attach:
      return sizeof(Attach);
    case SetupType::ready:
      return sizeof(Ready);
    case SetupType::fallback:
      return sizeof(Fallback);
    case SetupType::offer:
      return sizeof(Offer);
    case SetupType::mapped:
      return sizeof(Mapped);
  }
  return 0;
}

SetupHeader header_in(const std::byte* bytes) {
  SetupHeader header;
  std::memcpy(&header, bytes, sizeof header);
  return header;
}

// "GET / HTTP/1.1" tells the reader of a log more than four numbers.
std::string shown(const std::byte* bytes, size_t size) {
  std::string text;
  for (size_t i = 0; i < size; ++i) {
    const auto character = static_cast<char>(bytes[i]);
    text += character >= ' ' && character <= '~'
                ? std::string(1, character)
                : format_text("\\x%02x", static_cast<unsigned>(bytes[i]));
  }
  return text;
}

}  // namespace

Status SetupSocket::send_bytes(SetupType type, const void* body, size_t size,
                               std::span<const int> descriptors) {
  SetupHeader header{kSetupMagic, kProtocolVersion, static_cast<uint16_t>(type),
                     static_cast<uint32_t>(size), checksum(body, size)};
  iovec parts[2] = {{&header, sizeof header}, {const_cast<void*>(body), size}};
  msghdr message{};
  message.msg_iov = parts;
  message.msg_iovlen = 2;
  alignas(cmsghdr) char control[CMSG_SPACE(kMaxPassedDescriptors * sizeof(int))] = {};
  if (!descriptors.empty() && descriptors.size() <= kMaxPassedDescriptors) {
    message.msg_control = control;
    message.msg_controllen = CMSG_SPACE(descriptors.size_bytes());
    cmsghdr* part = CMSG_FIRSTHDR(&message);
    part->cmsg_level = SOL_SOCKET;
    part->cmsg_type = SCM_RIGHTS;
    part->cmsg_len = CMSG_LEN(descriptors.size_bytes());
    std::memcpy(CMSG_DATA(part), descriptors.data(), descriptors.size_bytes());
  }
  ssize_t sent = 0;
  do sent = ::sendmsg(socket_.get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
  while (sent < 0 && errno == EINTR);
  if (sent < 0) return fail_errno(errno, "could not be sent a set-up message");
  if (static_cast<size_t>(sent) != sizeof header + size) {
    return fail(ErrorKind::remote, "does not take a whole set-up message");
  }
  return {};
}

Result<bool> SetupSocket::fill(size_t wanted) {
  while (received_ < wanted) {
    iovec part{bytes_.data() + received_, wanted - received_};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    alignas(cmsghdr) char control[CMSG_SPACE(kMaxPassedDescriptors * sizeof(int))] = {};
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    const ssize_t size = ::recvmsg(socket_.get(), &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return false;
    if (size < 0) return fail_errno(errno, "broke off during set-up");
    for (cmsghdr* cmsg = CMSG_FIRSTHDR(&message); cmsg != nullptr;
         cmsg = CMSG_NXTHDR(&message, cmsg)) {
      if (cmsg->cmsg_level != SOL_SOCKET || cmsg->cmsg_type != SCM_RIGHTS) continue;
      const size_t count = (cmsg->cmsg_len - CMSG_LEN(0)) / sizeof(int);
      for (size_t i = 0; i < count; ++i) {
        int fd = -1;
        std::memcpy(&fd, CMSG_DATA(cmsg) + i * sizeof fd, sizeof fd);
        descriptors_.emplace_back(fd);
      }
    }
    if (size == 0) {
      return fail(ErrorKind::remote, received_ == 0
                                         ? "closed the socket during set-up"
                                         : "closed the socket in the middle of a message");
    }
    received_ += static_cast<size_t>(size);
  }
  return true;
}

Status SetupSocket::check_header() const {
  const SetupHeader header = header_in(bytes_.data());
  if (header.magic != kSetupMagic) {
    return fail(ErrorKind::remote, "does not speak Sluice's protocol (it sent \"" +
                                       shown(bytes_.data(), std::min<size_t>(received_, 16)) +
                                       "\")");
  }
  if (header.version != kProtocolVersion) {
    return fail(
        ErrorKind::remote,
        format_text("speaks version %u of Sluice's protocol, this is version %u: run the same "
                    "Sluice on all hosts",
                    header.version, kProtocolVersion));
  }
  if (header.size != body_size(static_cast<SetupType>(header.type)) || header.size == 0) {
    return fail(ErrorKind::remote,
                format_text("sent a set-up message of type %u and %u bytes, which is none",
                            header.type, header.size));
  }
  return {};
}

Result<std::optional<SetupMessage>> SetupSocket::receive() {
  auto complete = fill(sizeof(SetupHeader));
  if (!complete) return fail(complete.error());
  // Four foreign bytes are enough to turn somebody away.
  if (received_ >= sizeof(uint32_t) && header_in(bytes_.data()).magic != kSetupMagic) {
    SLUICE_RETURN_IF_ERROR(check_header());
  }
  if (!*complete) return std::optional<SetupMessage>();
  SLUICE_RETURN_IF_ERROR(check_header());
  const SetupHeader header = header_in(bytes_.data());
  complete = fill(sizeof header + header.size);
  if (!complete) return fail(complete.error());
  if (!*complete) return std::optional<SetupMessage>();
  const std::byte* body = bytes_.data() + sizeof header;
  if (checksum(body, header.size) != header.checksum) {
    return fail(ErrorKind::remote, "sent a set-up message that was damaged on the way");
  }
  std::optional<SetupMessage> message(std::in_place);
  message->type = static_cast<SetupType>(header.type);
  std::memcpy(message->body.data(), body, header.size);
  message->descriptors = std::move(descriptors_);
  descriptors_.clear();
  received_ = 0;
  return message;
}

}  // namespace sluice::transport
