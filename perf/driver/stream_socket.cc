// SPDX-License-Identifier: Apache-2.0
#include "perf/driver/stream_socket.h"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <thread>

namespace sluice::perf {
namespace {

using Addresses = std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)>;

Result<Addresses> resolve(const HostPort& address, int flags) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags;
  addrinfo* found = nullptr;
  const int code = ::getaddrinfo(address.host.c_str(), address.port.c_str(), &hints, &found);
  if (code != 0) {
    return fail(ErrorKind::invalid_argument, address.text() + ": " + ::gai_strerror(code));
  }
  return Addresses(found, ::freeaddrinfo);
}

// Waits for `events`; false at the deadline.
bool wait_for(int fd, short events, Deadline deadline) {
  pollfd entry{fd, events, 0};
  while (true) {
    const auto left = std::min<Duration>(deadline.left(), std::chrono::seconds(1));
    const auto milliseconds = std::chrono::ceil<std::chrono::milliseconds>(left).count();
    const int ready = ::poll(&entry, 1, static_cast<int>(milliseconds));
    if (ready > 0) return true;
    if (deadline.passed()) return false;
  }
}

Descriptor open_socket(const addrinfo& address) {
  Descriptor socket(::socket(address.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const int on = 1;
  if (socket.valid()) ::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return socket;
}

// 0, or the errno of the failure.
int try_connect(const Descriptor& socket, const addrinfo& address, Deadline deadline) {
  if (::connect(socket.get(), address.ai_addr, address.ai_addrlen) == 0) return 0;
  if (errno != EINPROGRESS) return errno;
  if (!wait_for(socket.get(), POLLOUT, deadline)) return ETIMEDOUT;
  int error = 0;
  socklen_t size = sizeof error;
  ::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &size);
  return error;
}

}  // namespace

Result<HostPort> HostPort::parse(const std::string& text) {
  const size_t colon = text.rfind(':');
  if (colon == text.npos || colon + 1 == text.size() || colon == 0) {
    return fail(ErrorKind::invalid_argument, text + ": expected host:port");
  }
  HostPort address{text.substr(0, colon), text.substr(colon + 1)};
  if (address.host.front() == '[' && address.host.back() == ']') {
    address.host = address.host.substr(1, address.host.size() - 2);
  }
  return address;
}

std::string HostPort::text() const {
  const bool v6 = host.find(':') != host.npos;
  return (v6 ? "[" + host + "]" : host) + ":" + port;
}

Result<Descriptor> listen_on(const HostPort& address, int* bound) {
  auto addresses = resolve(address, AI_PASSIVE);
  if (!addresses) return fail(std::move(addresses).error());
  Descriptor socket = open_socket(**addresses);
  if (!socket.valid()) return fail_errno(errno, "cannot open a socket for " + address.text());
  const int on = 1;
  ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (::bind(socket.get(), (*addresses)->ai_addr, (*addresses)->ai_addrlen) != 0 ||
      ::listen(socket.get(), 128) != 0) {
    return fail_errno(errno, "cannot listen on " + address.text());
  }
  sockaddr_storage name{};
  socklen_t size = sizeof name;
  ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&name), &size);
  *bound = ntohs(name.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6*>(&name)->sin6_port
                                            : reinterpret_cast<sockaddr_in*>(&name)->sin_port);
  return socket;
}

Result<Descriptor> accept_from(const Descriptor& listener, Deadline deadline) {
  while (wait_for(listener.get(), POLLIN, deadline)) {
    Descriptor socket(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (socket.valid()) {
      const int on = 1;
      ::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
      return socket;
    }
    if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED) {
      return fail_errno(errno, "cannot accept a connection");
    }
  }
  return fail(ErrorKind::timeout, "nobody connected in time");
}

Result<Descriptor> connect_to(const HostPort& address, Deadline deadline) {
  int error = 0;
  while (true) {
    auto addresses = resolve(address, 0);
    if (!addresses) return fail(std::move(addresses).error());
    for (const addrinfo* next = addresses->get(); next != nullptr; next = next->ai_next) {
      Descriptor socket = open_socket(*next);
      if (!socket.valid()) return fail_errno(errno, "cannot open a socket");
      error = try_connect(socket, *next, deadline);
      if (error == 0) return socket;
    }
    if (deadline.passed()) return fail_errno(error, "cannot connect to " + address.text());
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

Status send_all(const Descriptor& socket, std::span<const std::byte> bytes, Deadline deadline) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent >= 0) {
      bytes = bytes.subspan(static_cast<size_t>(sent));
    } else if (errno == EAGAIN) {
      if (!wait_for(socket.get(), POLLOUT, deadline)) return fail(ErrorKind::timeout, "timed out");
    } else if (errno != EINTR) {
      return fail_errno(errno, "send");
    }
  }
  return {};
}

Status receive_all(const Descriptor& socket, std::span<std::byte> bytes, Deadline deadline) {
  while (!bytes.empty()) {
    const ssize_t received = ::recv(socket.get(), bytes.data(), bytes.size(), 0);
    if (received > 0) {
      bytes = bytes.subspan(static_cast<size_t>(received));
    } else if (received == 0) {
      return fail(ErrorKind::remote, "the connection was closed");
    } else if (errno == EAGAIN) {
      if (!wait_for(socket.get(), POLLIN, deadline)) return fail(ErrorKind::timeout, "timed out");
    } else if (errno != EINTR) {
      return fail_errno(errno, "receive");
    }
  }
  return {};
}

}  // namespace sluice::perf
