// SPDX-License-Identifier: Apache-2.0
#include "transport/socket_options.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <climits>

namespace sluice::transport {
namespace {

void set_option(int socket, int level, int name, int value) {
  (void)::setsockopt(socket, level, name, &value, sizeof value);
}

bool set_congestion_control(int socket, const std::string& name) {
  return ::setsockopt(socket, IPPROTO_TCP, TCP_CONGESTION, name.data(),
                      static_cast<socklen_t>(name.size())) == 0;
}

int keepalive_seconds(Duration duration) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(duration).count();
  return static_cast<int>(std::clamp<int64_t>(seconds, 1, 3600));
}

// The kernel's own watch on a peer that vanished. TCP_USER_TIMEOUT is for the set-up socket alone:
// it also ends a connection whose peer is well but has not read for that long, which on a data
// stream is no failure.
void watch_peer(int socket, SocketRole role, Duration peer_timeout) {
  if (peer_timeout == Duration::max()) return;
  set_option(socket, SOL_SOCKET, SO_KEEPALIVE, 1);
  set_option(socket, IPPROTO_TCP, TCP_KEEPIDLE, std::max(1, keepalive_seconds(peer_timeout) / 4));
  set_option(socket, IPPROTO_TCP, TCP_KEEPINTVL, std::max(1, keepalive_seconds(peer_timeout) / 4));
  set_option(socket, IPPROTO_TCP, TCP_KEEPCNT, 3);
  const auto milliseconds =
      std::chrono::duration_cast<std::chrono::milliseconds>(peer_timeout).count();
  // 0 switches it off again: an accepted socket is taken for a set-up socket until it says what it
  // is.
  const int64_t user_timeout =
      role == SocketRole::setup ? std::clamp<int64_t>(milliseconds, 1, INT_MAX) : 0;
  set_option(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, static_cast<int>(user_timeout));
}

}  // namespace

void set_type_of_service(int socket, int family, int type_of_service) {
  if (type_of_service <= 0) return;
  set_option(socket, IPPROTO_IP, IP_TOS, type_of_service);
  if (family == AF_INET6) set_option(socket, IPPROTO_IPV6, IPV6_TCLASS, type_of_service);
}

void apply_options(int socket, int family, SocketRole role, const Settings& settings) {
  set_option(socket, IPPROTO_TCP, TCP_NODELAY, 1);
  set_type_of_service(socket, family, settings.in_order_tos);
  if (settings.socket_buffer > 0 && role == SocketRole::data) {
    set_option(socket, SOL_SOCKET, SO_SNDBUF, settings.socket_buffer);
    set_option(socket, SOL_SOCKET, SO_RCVBUF, settings.socket_buffer);
  }
  if (!settings.tcp_congestion.empty()) {
    (void)set_congestion_control(socket, settings.tcp_congestion);
  }
  watch_peer(socket, role, settings.peer_timeout);
}

Status check_congestion_control(const std::string& name) {
  const FileDescriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket) return fail_errno(errno, "no socket could be made");
  if (set_congestion_control(socket.get(), name)) return {};
  const std::string offered = "/proc/sys/net/ipv4/tcp_available_congestion_control";
  return fail_errno(errno, "tcp congestion control '" + name + "' cannot be used (" + offered +
                               " lists the kernel's)");
}

Result<FileDescriptor> make_socket(int family, SocketRole role, const Settings& settings) {
  FileDescriptor socket(::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!socket) return fail_errno(errno, "no socket could be made");
  apply_options(socket.get(), family, role, settings);
  return socket;
}

}  // namespace sluice::transport
