// SPDX-License-Identifier: Apache-2.0
#include "transport/setup/shm_handshake.h"

#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <cstddef>
#include <cstring>

#include "transport/setup/host.h"

namespace sluice::transport {
namespace {

struct LocalName {
  sockaddr_un address{};
  socklen_t size = 0;
};

// Abstract: a leading zero byte instead of a path, gone with its last socket.
LocalName local_name(const std::string& name) {
  LocalName local;
  local.address.sun_family = AF_UNIX;
  name.copy(local.address.sun_path + 1, sizeof local.address.sun_path - 1);
  local.size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  return local;
}

FileDescriptor local_socket() {
  return FileDescriptor(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
}

// As seen from our pid namespace; 0 when the peer is not visible in it.
pid_t process_of(const SetupSocket& local) {
  ucred credentials{};
  socklen_t size = sizeof credentials;
  if (::getsockopt(local.fd(), SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0) return 0;
  return credentials.pid;
}

ProbeOffer probe_offer(const shm::Segment& segment, int side) {
  uint64_t& word = segment.probe_word(side);
  word = random_number();
  return {reinterpret_cast<uintptr_t>(&word), word};
}

shm::PeerMemory probed(const SetupSocket& local, const ProbeOffer& offer, bool direct) {
  const shm::PeerMemory memory(direct ? process_of(local) : 0);
  return memory.probe(offer) ? memory : shm::PeerMemory();
}

}  // namespace

Result<FileDescriptor> listen_local(const std::string& name) {
  FileDescriptor socket = local_socket();
  const LocalName local = local_name(name);
  if (!socket ||
      ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&local.address), local.size) != 0 ||
      ::listen(socket.get(), SOMAXCONN) != 0) {
    return fail_errno(errno, "no unix socket for shared memory");
  }
  return socket;
}

Result<FileDescriptor> connect_local(const std::string& name) {
  FileDescriptor socket = local_socket();
  const LocalName local = local_name(name);
  if (!socket) return fail_errno(errno, "no unix socket for shared memory");
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&local.address), local.size) == 0) {
    return socket;
  }
  if (errno == EAGAIN || errno == EINTR) return FileDescriptor();
  return fail_errno(errno,
                    "the unix socket of the other process cannot be reached (another network "
                    "namespace?)");
}

Result<shm::Parts> offer_shm(SetupSocket& local, const Settings& settings) {
  auto created = shm::Segment::create(settings.shm_ring_bytes);
  if (!created) return fail(std::move(created).error());
  shm::Parts parts;
  parts.segment = std::move(created->segment);
  parts.side = 0;
  parts.own_event.reset(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  parts.peer_event.reset(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!parts.own_event || !parts.peer_event)
    return fail_errno(errno, "no event descriptor could be made");
  Offer offer;
  offer.segment_size = parts.segment.size();
  offer.ring_bytes = parts.segment.ring_bytes();
  offer.probe = probe_offer(parts.segment, 0);
  const int descriptors[] = {created->memory.get(), parts.own_event.get(), parts.peer_event.get()};
  SLUICE_RETURN_IF_ERROR(local.send(SetupType::offer, offer, descriptors));
  return parts;
}

Result<shm::Parts> accept_shm(SetupSocket& local, SetupMessage& message, bool direct) {
  if (message.type != SetupType::offer || message.descriptors.size() != kMaxPassedDescriptors) {
    return fail(ErrorKind::remote, "the other process passed no shared memory");
  }
  const auto offer = message.as<Offer>();
  auto segment = shm::Segment::map(message.descriptors[0], offer.segment_size, offer.ring_bytes);
  if (!segment) return fail(std::move(segment).error());
  shm::Parts parts;
  parts.segment = std::move(*segment);
  parts.side = 1;
  parts.peer_event = std::move(message.descriptors[1]);
  parts.own_event = std::move(message.descriptors[2]);
  parts.peer_memory = probed(local, offer.probe, direct);
  SLUICE_RETURN_IF_ERROR(local.send(SetupType::mapped, Mapped{probe_offer(parts.segment, 1)}));
  return parts;
}

void finish_shm(shm::Parts& parts, SetupSocket& local, const SetupMessage& mapped, bool direct) {
  parts.peer_memory = probed(local, mapped.as<Mapped>().probe, direct);
}

}  // namespace sluice::transport
