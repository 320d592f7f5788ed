// SPDX-License-Identifier: Apache-2.0
#include <arpa/inet.h>
#include <net/if.h>
#include <netdb.h>

#include <charconv>
#include <cstring>

#include "transport/endpoint.h"

namespace sluice::transport {
namespace {

struct HostPort {
  std::string host;
  std::string port;
};

Result<HostPort> split(const std::string& text) {
  HostPort parts;
  const size_t colon = text.rfind(':');
  const bool bracketed = !text.empty() && text.front() == '[';
  const size_t bracket = bracketed ? text.find(']') : std::string::npos;
  if (bracketed && bracket != std::string::npos && bracket + 1 == colon) {
    parts.host = text.substr(1, bracket - 1);
  } else if (!bracketed && colon != std::string::npos && text.find(':') == colon) {
    parts.host = text.substr(0, colon);
  } else {
    return fail(ErrorKind::invalid_argument,
                "\"" + text + "\" is no address: write host:port, or [address]:port for IPv6");
  }
  parts.port = text.substr(colon + 1);
  uint16_t number = 0;
  const char* end = parts.port.data() + parts.port.size();
  const auto [stop, error] = std::from_chars(parts.port.data(), end, number);
  if (parts.host.empty() || parts.port.empty() || error != std::errc() || stop != end) {
    return fail(ErrorKind::invalid_argument,
                "\"" + text + "\" is no address: the port must be a number from 0 to 65535");
  }
  return parts;
}

}  // namespace

Result<SocketAddress> SocketAddress::from(const sockaddr* address, socklen_t size) {
  const bool ipv4 =
      address != nullptr && address->sa_family == AF_INET && size >= sizeof(sockaddr_in);
  const bool ipv6 =
      address != nullptr && address->sa_family == AF_INET6 && size >= sizeof(sockaddr_in6);
  if (!ipv4 && !ipv6)
    return fail(ErrorKind::invalid_argument, "neither an IPv4 nor an IPv6 address");
  SocketAddress result;
  result.size_ = ipv4 ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
  std::memcpy(&result.storage_, address, result.size_);
  return result;
}

Result<SocketAddress> SocketAddress::parse(const std::string& text) {
  auto parts = split(text);
  if (!parts) return fail(parts.error());
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int failure = ::getaddrinfo(parts->host.c_str(), parts->port.c_str(), &hints, &found);
  if (failure != 0) {
    return fail(ErrorKind::invalid_argument,
                "no address for host \"" + parts->host + "\": " + ::gai_strerror(failure));
  }
  auto result = from(found->ai_addr, found->ai_addrlen);
  ::freeaddrinfo(found);
  return result;
}

uint16_t SocketAddress::port() const {
  if (size_ == 0) return 0;
  return ntohs(storage_.sin6_port);  // at the same place in both families
}

void SocketAddress::set_port(uint16_t port) {
  storage_.sin6_port = htons(port);
}

std::string SocketAddress::text() const {
  char text[INET6_ADDRSTRLEN] = "";
  if (size_ == 0) return "no address";
  if (family() == AF_INET) {
    ::inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in*>(&storage_)->sin_addr, text,
                sizeof text);
    return format_text("%s:%u", text, port());
  }
  ::inet_ntop(AF_INET6, &storage_.sin6_addr, text, sizeof text);
  if (storage_.sin6_scope_id == 0) return format_text("[%s]:%u", text, port());
  char name[IF_NAMESIZE] = "";
  if (::if_indextoname(storage_.sin6_scope_id, name) == nullptr) {
    return format_text("[%s%%%u]:%u", text, storage_.sin6_scope_id, port());
  }
  return format_text("[%s%%%s]:%u", text, name, port());
}

}  // namespace sluice::transport
