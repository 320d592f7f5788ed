// SPDX-License-Identifier: Apache-2.0
#include "transport/listener_address.h"

#include <ifaddrs.h>
#include <net/if.h>

#include <cstddef>
#include <cstring>
#include <memory>

#include "transport/checksum.h"
#include "transport/setup/host.h"

namespace sluice::transport {
namespace {

uint32_t checksum_of(const ListenerAddress& address) {
  return checksum(&address, offsetof(ListenerAddress, checksum));
}

// The scope is an interface index of the listener's host. On another host our own interface is
// meant: the one of that index if it has a link-local address, else the first that has.
uint32_t own_scope(uint32_t wanted) {
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) return wanted;
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owner(list, &::freeifaddrs);
  uint32_t first = 0;
  for (const ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next) {
    if (entry->ifa_addr == nullptr || entry->ifa_addr->sa_family != AF_INET6) continue;
    const auto* socket = reinterpret_cast<const sockaddr_in6*>(entry->ifa_addr);
    if (!IN6_IS_ADDR_LINKLOCAL(&socket->sin6_addr) || (entry->ifa_flags & IFF_UP) == 0) continue;
    if (socket->sin6_scope_id == wanted) return wanted;
    if (first == 0) first = socket->sin6_scope_id;
  }
  return first != 0 ? first : wanted;
}

}  // namespace

ListenerAddress make_address(const SocketAddress& socket, Purpose purpose, uint64_t secret,
                             uint64_t host) {
  ListenerAddress address;
  address.magic = kAddressMagic;
  address.version = kProtocolVersion;
  address.purpose = static_cast<uint16_t>(purpose);
  address.secret = secret;
  address.host = host;
  address.family = static_cast<uint16_t>(socket.size() > 0 ? socket.family() : AF_UNSPEC);
  address.port = socket.port();
  if (address.family == AF_INET6) {
    const auto* ipv6 = reinterpret_cast<const sockaddr_in6*>(socket.get());
    address.scope = ipv6->sin6_scope_id;
    std::memcpy(address.address, &ipv6->sin6_addr, sizeof ipv6->sin6_addr);
  } else if (address.family == AF_INET) {
    const auto* ipv4 = reinterpret_cast<const sockaddr_in*>(socket.get());
    std::memcpy(address.address, &ipv4->sin_addr, sizeof ipv4->sin_addr);
  }
  address.checksum = checksum_of(address);
  return address;
}

ListenerAddress address_of(const SocketAddress& address, Purpose purpose) {
  return make_address(address, purpose, 0, 0);
}

Status check(const ListenerAddress& address, Purpose purpose) {
  if (address.magic != kAddressMagic) {
    return fail(
        ErrorKind::invalid_argument,
        format_text("a listen handle of unknown origin (it starts with 0x%08x): the other rank "
                    "does not run Sluice, or the handle was lost on the way",
                    address.magic));
  }
  if (address.checksum != checksum_of(address)) {
    return fail(ErrorKind::invalid_argument,
                "a listen handle that was damaged or cut short on the way");
  }
  if (address.version != kProtocolVersion) {
    return fail(ErrorKind::invalid_argument,
                format_text("a listen handle of version %u, this is version %u: "
                            "run the same Sluice on all hosts",
                            address.version, kProtocolVersion));
  }
  if (address.purpose != static_cast<uint16_t>(purpose)) {
    return fail(ErrorKind::invalid_argument,
                format_text("a listen handle for purpose %u where %u is needed", address.purpose,
                            static_cast<unsigned>(purpose)));
  }
  if (address.family != AF_INET && address.family != AF_INET6) {
    return fail(ErrorKind::invalid_argument,
                format_text("a listen handle of unknown address family %u", address.family));
  }
  return {};
}

Result<SocketAddress> socket_address_of(const ListenerAddress& address) {
  if (address.family == AF_INET) {
    sockaddr_in ipv4{};
    ipv4.sin_family = AF_INET;
    ipv4.sin_port = htons(address.port);
    std::memcpy(&ipv4.sin_addr, address.address, sizeof ipv4.sin_addr);
    return SocketAddress::from(reinterpret_cast<const sockaddr*>(&ipv4), sizeof ipv4);
  }
  sockaddr_in6 ipv6{};
  ipv6.sin6_family = AF_INET6;
  ipv6.sin6_port = htons(address.port);
  std::memcpy(&ipv6.sin6_addr, address.address, sizeof ipv6.sin6_addr);
  if (IN6_IS_ADDR_LINKLOCAL(&ipv6.sin6_addr)) {
    const bool same_host = address.host != 0 && address.host == host_identity();
    ipv6.sin6_scope_id = same_host ? address.scope : own_scope(address.scope);
  }
  return SocketAddress::from(reinterpret_cast<const sockaddr*>(&ipv6), sizeof ipv6);
}

std::string text_of(const ListenerAddress& address) {
  const auto socket = socket_address_of(address);
  return socket ? socket->text() : "no address";
}

}  // namespace sluice::transport
