// SPDX-License-Identifier: Apache-2.0
#include "perf/driver/bootstrap.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>
#include <thread>

namespace sluice::perf {
namespace {

constexpr uint32_t kData = 0x534c4431;   // "SLD1"
constexpr uint32_t kAbort = 0x534c4131;  // "SLA1"
constexpr uint32_t kHello = 0x534c4831;  // "SLH1"
constexpr size_t kMostText = 1000;
constexpr std::chrono::milliseconds kWatchInterval{50};

struct Hello {
  uint32_t rank;
  uint32_t size;
  uint64_t secret;
};

struct Verdict {
  int32_t failed;
  ErrorKind kind;
  char text[480];
};

}  // namespace

Result<Bootstrap> Bootstrap::join(Place place, Duration timeout) {
  Bootstrap bootstrap(place.rank, place.size, timeout);
  bootstrap.peers_.resize(place.rank == 0 ? static_cast<size_t>(place.size) : 1);
  SLUICE_RETURN_IF_ERROR(place.rank == 0 ? bootstrap.gather_root(place)
                                         : bootstrap.meet_root(place));
  SLUICE_RETURN_IF_ERROR(bootstrap.barrier());
  return bootstrap;
}

Status Bootstrap::gather_root(const Place& place) {
  if (size_ == 1) return {};
  const Deadline deadline = Deadline::after(timeout_);
  Descriptor opened;
  const Descriptor* listener = &place.root_listener;
  if (!listener->valid()) {
    int port = 0;
    auto made = listen_on(HostPort{"::", place.root.port}, &port);  // takes IPv4 too
    if (!made) made = listen_on(HostPort{"0.0.0.0", place.root.port}, &port);
    if (!made) return fail(std::move(made).error());
    opened = std::move(*made);
    listener = &opened;
  }
  for (int missing = size_ - 1; missing > 0;) {
    auto socket = accept_from(*listener, deadline);
    if (!socket) {
      return fail(ErrorKind::timeout, format_text("%d of %d ranks did not come: %s", missing, size_,
                                                  socket.error().message.c_str()));
    }
    Header header{};
    Hello hello{};
    const Deadline soon =
        Deadline::after(std::min<Duration>(deadline.left(), std::chrono::seconds(5)));
    const bool heard = receive_all(*socket, std::as_writable_bytes(std::span(&header, 1)), soon) &&
                       header.kind == kHello && header.bytes == sizeof hello &&
                       receive_all(*socket, std::as_writable_bytes(std::span(&hello, 1)), soon);
    if (!heard || hello.secret != place.secret) continue;  // a stranger
    if (hello.size != static_cast<uint32_t>(size_) || hello.rank == 0 || hello.rank >= hello.size ||
        peers_[hello.rank].valid()) {
      return fail(ErrorKind::invalid_usage,
                  format_text("a process came as rank %u of %u to a job of %d ranks", hello.rank,
                              hello.size, size_));
    }
    peers_[hello.rank] = std::move(*socket);
    --missing;
  }
  return {};
}

Status Bootstrap::meet_root(const Place& place) {
  const Deadline deadline = Deadline::after(timeout_);
  auto socket = connect_to(place.root, deadline);
  if (!socket) return fail(std::move(socket).error());
  peers_[0] = std::move(*socket);
  const Hello hello{static_cast<uint32_t>(rank_), static_cast<uint32_t>(size_), place.secret};
  return send_frame(0, kHello, std::as_bytes(std::span(&hello, 1)), deadline);
}

std::string Bootstrap::name_of(int peer) const {
  return "rank " + std::to_string(peer);
}

Status Bootstrap::send_frame(int peer, uint32_t kind, std::span<const std::byte> bytes,
                             Deadline deadline) {
  const Descriptor& socket = peers_[static_cast<size_t>(peer)];
  const Header header{kind, static_cast<uint32_t>(bytes.size())};
  Status status = send_all(socket, std::as_bytes(std::span(&header, 1)), deadline);
  if (status) status = send_all(socket, bytes, deadline);
  if (status) return {};
  if (auto known = failure_of(peer)) return fail(std::move(*known));  // its last words say more
  return fail(ErrorKind::remote, name_of(peer) + " is gone: " + status.error().message);
}

Status Bootstrap::receive_frame(int peer, std::span<std::byte> bytes, Deadline deadline) {
  const Descriptor& socket = peers_[static_cast<size_t>(peer)];
  Header header{};
  Status status = receive_all(socket, std::as_writable_bytes(std::span(&header, 1)), deadline);
  if (status && header.kind == kAbort) {
    return fail(ErrorKind::remote, abort_text(peer, header, deadline));
  }
  if (status && (header.kind != kData || header.bytes != bytes.size())) {
    return fail(ErrorKind::internal, name_of(peer) + " is at another step of the program");
  }
  if (status) status = receive_all(socket, bytes, deadline);
  if (status) return {};
  if (status.error().kind == ErrorKind::timeout) {
    return fail(ErrorKind::timeout, name_of(peer) + " does not answer");
  }
  return fail(ErrorKind::remote, name_of(peer) + " ended too early");
}

std::string Bootstrap::abort_text(int peer, const Header& header, Deadline deadline) {
  std::string text(std::min<size_t>(header.bytes, kMostText), '\0');
  const Status status = receive_all(peers_[static_cast<size_t>(peer)],
                                    std::as_writable_bytes(std::span(text)), deadline);
  return status ? text : name_of(peer) + " gave up";
}

// Whoever finds a failure first makes sure that all others hear of it.
Status Bootstrap::give_up(Status status) {
  abort(status.error().message);
  return status;
}

Status Bootstrap::allgather(std::span<const std::byte> own, std::span<std::byte> all) {
  if (aborted_) return fail(ErrorKind::invalid_usage, "this rank has given up already");
  // Longer than the plugin's own limit, so that the plugin's error is heard first; rank 0 tires
  // before the others, since it knows whom everybody waits for.
  const Deadline deadline = Deadline::after(timeout_ + std::chrono::seconds(rank_ == 0 ? 2 : 4));
  const size_t bytes = own.size();
  std::memcpy(all.data() + static_cast<size_t>(rank_) * bytes, own.data(), bytes);
  if (rank_ != 0) {
    Status status = send_frame(0, kData, own, deadline);
    if (status) status = receive_frame(0, all, deadline);
    return status ? status : give_up(std::move(status));
  }
  for (int peer = 1; peer < size_; ++peer) {
    Status status = await(peer, deadline);
    if (status) {
      status = receive_frame(peer, all.subspan(static_cast<size_t>(peer) * bytes, bytes), deadline);
    }
    if (!status) return give_up(std::move(status));
  }
  for (int peer = 1; peer < size_; ++peer) {
    Status status = send_frame(peer, kData, all, deadline);
    if (!status) return give_up(std::move(status));
  }
  return {};
}

Status Bootstrap::await(int peer, Deadline deadline) {
  pollfd entry{peers_[static_cast<size_t>(peer)].get(), POLLIN, 0};
  while (::poll(&entry, 1, static_cast<int>(kWatchInterval.count())) <= 0 && !deadline.passed()) {
    if (auto error = failure()) return fail(std::move(*error));
  }
  return {};
}

Status Bootstrap::barrier() {
  auto all = allgather(uint8_t{1});
  if (!all) return fail(std::move(all).error());
  return {};
}

Status Bootstrap::agree(const Status& own) {
  Verdict verdict{};
  if (!own) {
    verdict.failed = 1;
    verdict.kind = own.error().kind;
    std::snprintf(verdict.text, sizeof verdict.text, "%s", own.error().message.c_str());
  }
  auto all = allgather(verdict);
  if (!all) return own ? fail(std::move(all).error()) : own;
  for (const Verdict& one : *all) {
    if (one.failed != 0) return fail(one.kind, one.text);
  }
  return {};
}

void Bootstrap::abort(const std::string& reason) {
  if (std::exchange(aborted_, true)) return;
  const std::string text = reason.substr(0, kMostText);
  const auto bytes = std::as_bytes(std::span(text));
  const Deadline soon = Deadline::after(std::chrono::milliseconds(200));
  for (const Descriptor& peer : peers_) {
    if (!peer.valid()) continue;
    const Header header{kAbort, static_cast<uint32_t>(bytes.size())};
    if (send_all(peer, std::as_bytes(std::span(&header, 1)), soon)) {
      static_cast<void>(send_all(peer, bytes, soon));
    }
  }
}

std::optional<Error> Bootstrap::failure() {
  for (size_t peer = 0; peer < peers_.size(); ++peer) {
    if (!peers_[peer].valid()) continue;
    if (auto error = failure_of(static_cast<int>(peer))) {
      abort(error->message);
      return error;
    }
  }
  return std::nullopt;
}

std::optional<Error> Bootstrap::failure_of(int peer) {
  const int fd = peers_[static_cast<size_t>(peer)].get();
  Header header{};
  const ssize_t peeked = ::recv(fd, &header, sizeof header, MSG_PEEK | MSG_DONTWAIT);
  if (peeked == sizeof header && header.kind == kAbort) {
    static_cast<void>(::recv(fd, &header, sizeof header, 0));
    const Deadline soon = Deadline::after(std::chrono::milliseconds(200));
    return Error{ErrorKind::remote, 0, abort_text(peer, header, soon)};
  }
  pollfd entry{fd, POLLRDHUP, 0};
  const bool hung_up =
      ::poll(&entry, 1, 0) > 0 && (entry.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
  if (peeked == 0 || hung_up) {
    return Error{ErrorKind::remote, 0, name_of(peer) + " ended too early"};
  }
  return std::nullopt;
}

}  // namespace sluice::perf
