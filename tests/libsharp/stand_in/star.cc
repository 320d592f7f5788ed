// SPDX-License-Identifier: Apache-2.0
#include "tests/libsharp/stand_in/star.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <random>

namespace sluice::stand_in {
namespace {

constexpr size_t kHeader = 16;            // number, size
constexpr int kPatience = 20'000;         // ms, for a rank that has been promised
constexpr size_t kMostAtOnce = 64 << 10;  // bytes read per turn

sockaddr_in loopback(uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

bool is_readable(int fd) {
  pollfd entry{fd, POLLIN, 0};
  return ::poll(&entry, 1, kPatience) == 1;
}

bool write_all(int fd, const void* data, size_t size) {
  return ::send(fd, data, size, MSG_NOSIGNAL) == static_cast<ssize_t>(size);
}

bool read_all(int fd, void* data, size_t size) {
  return is_readable(fd) && ::recv(fd, data, size, MSG_WAITALL) == static_cast<ssize_t>(size);
}

void prepare(int fd) {
  const int on = 1;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK);
}

struct Introduction {
  uint64_t secret = 0;
  int rank = 0;
};

}  // namespace

// The port goes from rank 0 through the last rank to all: every kind of collective is used.
bool Star::open(Bootstrap& bootstrap) {
  rank_ = bootstrap.rank();
  ranks_ = bootstrap.ranks();
  links_.resize(static_cast<size_t>(ranks_));
  const transport::FileDescriptor listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  auto address = loopback(0);
  socklen_t size = sizeof address;
  std::array<uint64_t, 2> own{};  // port, secret
  if (rank_ == 0) {
    if (::bind(listener.get(), reinterpret_cast<sockaddr*>(&address), size) != 0 ||
        ::listen(listener.get(), ranks_) != 0 ||
        ::getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0) {
      return false;
    }
    own = {ntohs(address.sin_port), std::random_device()()};
  }
  const int last = ranks_ - 1;
  std::vector<std::array<uint64_t, 2>> all(static_cast<size_t>(ranks_));
  if (!bootstrap.gather(last, own.data(), all.data(), sizeof own)) return false;
  if (!bootstrap.broadcast(all.data(), static_cast<int>(sizeof own), last)) return false;
  const bool joined = rank_ == 0 ? accept_all(listener.get(), all[0][1])
                                 : connect_to(static_cast<uint16_t>(all[0][0]), all[0][1]);
  return joined && bootstrap.barrier();
}

bool Star::accept_all(int listener, uint64_t secret) {
  for (int come = 1; come < ranks_;) {
    if (!is_readable(listener)) return false;
    transport::FileDescriptor socket(::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC));
    Introduction introduction;
    if (!socket || !read_all(socket.get(), &introduction, sizeof introduction)) continue;
    if (introduction.secret != secret) continue;
    prepare(socket.get());
    links_[static_cast<size_t>(introduction.rank)].socket = std::move(socket);
    ++come;
  }
  return true;
}

bool Star::connect_to(uint16_t port, uint64_t secret) {
  transport::FileDescriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const auto address = loopback(port);
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return false;
  }
  const Introduction introduction{secret, rank_};
  if (!write_all(socket.get(), &introduction, sizeof introduction)) return false;
  prepare(socket.get());
  links_[0].socket = std::move(socket);
  return true;
}

void Star::send(int to, uint64_t number, const Bytes& payload) {
  if (to == rank_) {
    links_[static_cast<size_t>(to)].arrived[number] = payload;
    return;
  }
  Bytes message(kHeader + payload.size());
  const uint64_t size = payload.size();
  std::memcpy(message.data(), &number, sizeof number);
  std::memcpy(message.data() + sizeof number, &size, sizeof size);
  std::copy(payload.begin(), payload.end(), message.begin() + kHeader);
  links_[static_cast<size_t>(to)].out.push_back(std::move(message));
}

bool Star::flushed() const {
  return std::all_of(links_.begin(), links_.end(),
                     [](const Link& link) { return link.out.empty(); });
}

const Bytes* Star::find(int from, uint64_t number) const {
  const auto& arrived = links_[static_cast<size_t>(from)].arrived;
  const auto found = arrived.find(number);
  return found == arrived.end() ? nullptr : &found->second;
}

void Star::forget(int from, uint64_t number) {
  links_[static_cast<size_t>(from)].arrived.erase(number);
}

bool Star::progress() {
  bool good = true;
  for (Link& link : links_) {
    if (link.socket) good = push(link) && pull(link) && good;
  }
  return good;
}

bool Star::push(Link& link) {
  while (!link.out.empty()) {
    const Bytes& message = link.out.front();
    const ssize_t sent = ::send(link.socket.get(), message.data() + link.sent,
                                message.size() - link.sent, MSG_NOSIGNAL);
    if (sent < 0) return errno == EAGAIN;
    link.sent += static_cast<size_t>(sent);
    if (link.sent < message.size()) return true;
    link.out.pop_front();
    link.sent = 0;
  }
  return true;
}

bool Star::pull(Link& link) {
  const size_t before = link.in.size();
  link.in.resize(before + kMostAtOnce);
  const ssize_t got = ::recv(link.socket.get(), link.in.data() + before, kMostAtOnce, 0);
  link.in.resize(before + static_cast<size_t>(std::max<ssize_t>(got, 0)));
  size_t at = 0;
  while (link.in.size() - at >= kHeader) {
    uint64_t number = 0;
    uint64_t size = 0;
    std::memcpy(&number, link.in.data() + at, sizeof number);
    std::memcpy(&size, link.in.data() + at + sizeof number, sizeof size);
    if (link.in.size() - at - kHeader < size) break;
    const auto first = link.in.begin() + static_cast<ptrdiff_t>(at + kHeader);
    link.arrived[number].assign(first, first + static_cast<ptrdiff_t>(size));
    at += kHeader + size;
  }
  link.in.erase(link.in.begin(), link.in.begin() + static_cast<ptrdiff_t>(at));
  return got > 0 || (got < 0 && errno == EAGAIN);
}

}  // namespace sluice::stand_in
