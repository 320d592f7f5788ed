// SPDX-License-Identifier: Apache-2.0
#include "transport/liveness.h"

#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <system_error>

namespace sluice::transport {

namespace {

constexpr char kBeat = 'B';
constexpr char kGoodbye = 'G';
constexpr uint64_t kWakeId = 0;
constexpr Duration kShortestBeat = std::chrono::milliseconds(50);
constexpr Duration kLongestBeat = std::chrono::seconds(1);

Duration beat_for(Duration timeout) {
  if (timeout == Duration::max()) return kLongestBeat;
  return std::clamp<Duration>(timeout / 8, kShortestBeat, kLongestBeat);
}

void send_byte(int socket, char byte) {
  // A full buffer holds beats enough, a broken socket is noticed by reading.
  (void)!::send(socket, &byte, 1, MSG_DONTWAIT | MSG_NOSIGNAL);
}

}  // namespace

struct WatchedPeer {
  uint64_t id = 0;
  FileDescriptor socket;
  Duration beat{};
  Duration timeout{};
  TimePoint heard;
  TimePoint beaten;
  int wake = -1;  // under the table's lock
  std::atomic<PeerState> state{PeerState::alive};
  std::atomic<int> error{0};
};

Watch& Watch::operator=(Watch&& other) noexcept {
  if (this != &other) {
    end();
    monitor_ = std::exchange(other.monitor_, nullptr);
    peer_ = std::move(other.peer_);
  }
  return *this;
}

PeerState Watch::state() const {
  return peer_ == nullptr ? PeerState::closed : peer_->state.load(std::memory_order_acquire);
}

Error Watch::error(const std::string& peer) const {
  switch (state()) {
    case PeerState::alive:
      return {ErrorKind::internal, 0, peer + " is alive"};
    case PeerState::closed:
      return {ErrorKind::remote, 0, peer + " closed the connection"};
    case PeerState::silent:
      return {
          ErrorKind::remote, 0,
          format_text("%s has been silent for %.1f s: the process is stopped, or its host or the "
                      "network is down",
                      peer.c_str(), in_seconds(peer_->timeout))};
    case PeerState::lost:
      break;
  }
  const int error = peer_->error.load(std::memory_order_relaxed);
  std::string text = peer + " is gone: its process ended without closing the connection";
  if (error != 0) text += format_text(" (%s, errno %d)", std::strerror(error), error);
  return {ErrorKind::remote, error, text};
}

void Watch::set_wake(int event_fd) {
  if (monitor_ == nullptr || peer_ == nullptr) return;
  const std::lock_guard lock(monitor_->table_);
  peer_->wake = event_fd;
}

void Watch::end() {
  LivenessMonitor* monitor = std::exchange(monitor_, nullptr);
  const std::shared_ptr<WatchedPeer> peer = std::move(peer_);
  if (monitor != nullptr && peer != nullptr) monitor->unwatch(*peer);
}

LivenessMonitor::LivenessMonitor(Duration peer_timeout)
    : peer_timeout_(peer_timeout), owner_(::getpid()), shortest_beat_(beat_for(peer_timeout)) {}

LivenessMonitor::~LivenessMonitor() {
  if (::getpid() != owner_) {
    (void)thread_.release();  // it runs in the parent, here there is nothing to join
    return;
  }
  const std::lock_guard life(life_);
  stop();
}

Result<Watch> LivenessMonitor::watch(FileDescriptor socket, Duration their_timeout) {
  auto peer = std::make_shared<WatchedPeer>();
  peer->socket = std::move(socket);
  peer->timeout = peer_timeout_;
  peer->beat = std::min(beat_for(their_timeout), beat_for(peer_timeout_));
  peer->heard = peer->beaten = Clock::now();
  const std::lock_guard life(life_);
  if (halted_) return fail(ErrorKind::invalid_usage, "a connection is made while the library goes");
  if (thread_ == nullptr) SLUICE_RETURN_IF_ERROR(start());
  {
    const std::lock_guard table(table_);
    peer->id = next_id_++;
    epoll_event event{EPOLLIN | EPOLLRDHUP, {.u64 = peer->id}};
    if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, peer->socket.get(), &event) != 0) {
      return fail_errno(errno, "a connection cannot be watched");
    }
    peers_.emplace(peer->id, peer);
    if (peer->beat < shortest_beat_) shortest_beat_ = peer->beat;
    next_tending_ = std::min(next_tending_, Clock::now() + peer->beat);
  }
  (void)::eventfd_write(wake_.get(), 1);
  return Watch(this, std::move(peer));
}

void LivenessMonitor::unwatch(WatchedPeer& peer) {
  if (::getpid() != owner_) return;  // the parent's peer, the parent's lock
  const std::lock_guard life(life_);
  bool last = false;
  {
    const std::lock_guard table(table_);
    if (peer.state.load(std::memory_order_relaxed) == PeerState::alive) {
      // Read first: closing a socket with unread bytes resets it, which could overtake the goodbye.
      read_from(peer, Clock::now());
      send_byte(peer.socket.get(), kGoodbye);
    }
    (void)::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, peer.socket.get(), nullptr);
    peer.socket.reset();
    peers_.erase(peer.id);
    last = peers_.empty();
  }
  if (last) stop();
}

Status LivenessMonitor::start() {
  epoll_.reset(::epoll_create1(EPOLL_CLOEXEC));
  wake_.reset(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!epoll_ || !wake_) return fail_errno(errno, "the liveness thread cannot start");
  epoll_event event{EPOLLIN, {.u64 = kWakeId}};
  (void)::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, wake_.get(), &event);
  stopping_.store(false);
  shortest_beat_ = beat_for(peer_timeout_);
  next_tending_ = Clock::now() + shortest_beat_;
  // The application's signals are not for this thread.
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  (void)::pthread_sigmask(SIG_SETMASK, &all, &before);
  Status started;
  try {
    thread_ = std::make_unique<std::thread>([this] { run(); });
  } catch (const std::system_error& error) {
    started = fail_errno(error.code().value(), "the liveness thread cannot start");
  }
  (void)::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return started;
}

void LivenessMonitor::halt() {
  if (::getpid() != owner_) return;
  const std::lock_guard life(life_);
  halted_ = true;
  stop();
}

void LivenessMonitor::stop() {
  if (thread_ == nullptr) return;
  stopping_.store(true);
  (void)::eventfd_write(wake_.get(), 1);
  thread_->join();  // it never blocks on anything but epoll_wait, which was just woken
  thread_.reset();
  epoll_.reset();
  wake_.reset();
}

void LivenessMonitor::run() {
  (void)::pthread_setname_np(::pthread_self(), "sluice-liveness");
  int timeout_ms = 0;
  while (!stopping_.load()) {
    handle_events(timeout_ms);
    const std::lock_guard table(table_);
    const TimePoint now = Clock::now();
    if (now >= next_tending_) tend_all(now);
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(next_tending_ - now).count();
    timeout_ms = static_cast<int>(std::max<int64_t>(left, 1));
  }
}

void LivenessMonitor::handle_events(int timeout_ms) {
  epoll_event events[64];
  const int count = ::epoll_wait(epoll_.get(), events, 64, timeout_ms);
  if (count <= 0) return;
  const std::lock_guard table(table_);
  const TimePoint now = Clock::now();
  for (int i = 0; i < count; ++i) {
    if (events[i].data.u64 == kWakeId) {
      eventfd_t ignored = 0;
      (void)::eventfd_read(wake_.get(), &ignored);
      continue;
    }
    const auto found = peers_.find(events[i].data.u64);
    if (found != peers_.end()) read_from(*found->second, now);
  }
}

void LivenessMonitor::tend_all(TimePoint now) {
  // When we ourselves were stopped or starved, the silence was ours: nobody is blamed for it.
  const Duration late = now - next_tending_;
  const Duration excused = late > shortest_beat_ ? late : Duration::zero();
  for (auto& [id, peer] : peers_) {
    peer->heard += excused;
    tend(*peer, now);
  }
  next_tending_ = now + shortest_beat_ / 2;
}

void LivenessMonitor::tend(WatchedPeer& peer, TimePoint now) {
  if (peer.state.load(std::memory_order_relaxed) != PeerState::alive) return;
  if (now - peer.beaten >= peer.beat) {
    send_byte(peer.socket.get(), kBeat);
    peer.beaten = now;
  }
  if (peer.timeout == Duration::max() || now - peer.heard < peer.timeout) return;
  if (!read_from(peer, now)) end_with(peer, PeerState::silent, 0);
}

// Takes what has come; true when that was anything, an end included.
bool LivenessMonitor::read_from(WatchedPeer& peer, TimePoint now) {
  char bytes[256];
  bool heard = false;
  while (peer.state.load(std::memory_order_relaxed) == PeerState::alive) {
    const ssize_t size = ::recv(peer.socket.get(), bytes, sizeof bytes, MSG_DONTWAIT);
    if (size > 0) {
      peer.heard = now;
      heard = true;
      if (std::find(bytes, bytes + size, kGoodbye) != bytes + size)
        end_with(peer, PeerState::closed, 0);
      continue;
    }
    if (size < 0 && errno == EINTR) continue;
    if (size < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return heard;
    // TCP_USER_TIMEOUT and keepalive report a vanished host as ETIMEDOUT.
    const int error = size == 0 ? 0 : errno;
    end_with(peer, error == ETIMEDOUT ? PeerState::silent : PeerState::lost, error);
  }
  return true;
}

void LivenessMonitor::end_with(WatchedPeer& peer, PeerState state, int error) {
  peer.error.store(error, std::memory_order_relaxed);
  peer.state.store(state, std::memory_order_release);
  (void)::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, peer.socket.get(), nullptr);
  if (peer.wake >= 0) (void)::eventfd_write(peer.wake, 1);
}

}  // namespace sluice::transport
