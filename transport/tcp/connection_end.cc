// SPDX-License-Identifier: Apache-2.0
// The end of a tcp connection, and how an event loop waits for it: status, errors, event
// descriptors.
#include <sys/epoll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <cerrno>

#include "transport/tcp/connection.h"

namespace sluice::transport::tcp {

Status TcpConnection::status() const {
  if (error_) return fail(*error_);
  return {};
}

void TcpConnection::end_with(Error error, const std::string& words) {
  error_ = std::move(error);
  for (auto& stream : streams_) {
    if (!words.empty() && !stream->ended()) stream->say_goodbye(words);
    stream->close();
  }
  watch_.end();
}

Status TcpConnection::reject(Error error) {
  if (error_) return status();
  SLUICE_WARN(context_.logger(), net, "tcp: %s", error.message.c_str());
  const std::string words = "the other side says: " + error.message;
  end_with(std::move(error), words);
  return status();
}

// A handler's error is the caller's own and was logged by whoever decided it.
Status TcpConnection::handled(Status status_of_handler) {
  if (error_) return status();  // a post from within the handler failed the connection
  if (status_of_handler) return {};
  const std::string words = "the other side failed: " + status_of_handler.error().message;
  end_with(std::move(status_of_handler).error(), words);
  return status();
}

Status TcpConnection::check_departure() {
  const PeerState state = watch_.state();
  if (state == PeerState::alive && !departure_.noted()) return {};
  departure_.note();
  const auto ended = [](const auto& stream) { return stream->ended(); };
  const bool all_ended = std::all_of(streams_.begin(), streams_.end(), ended);
  if (!all_ended && !departure_.overdue() && state != PeerState::silent) return {};
  Error error = departure_.error(peer_, watch_);
  const auto torn = [](const auto& stream) { return !stream->at_boundary(); };
  if (!departure_.orderly() && std::any_of(streams_.begin(), streams_.end(), torn)) {
    error.message += ", in the middle of a frame";
  }
  SLUICE_LOG(context_.logger(), departure_.orderly() ? LogLevel::info : LogLevel::warn,
             LogSubsystem::net, "tcp: %s", error.message.c_str());
  end_with(std::move(error), {});
  return status();
}

void TcpConnection::watch_stream(Stream& stream, bool add) const {
  epoll_event event{EPOLLIN, {.ptr = &stream}};
  if (stream.blocked()) event.events |= EPOLLOUT;
  (void)::epoll_ctl(epoll_.get(), add ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, stream.fd(), &event);
}

int TcpConnection::event_fd() const {
  if (epoll_ || error_) return epoll_.get();
  epoll_.reset(::epoll_create1(EPOLL_CLOEXEC));
  wake_.reset(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  epoll_event event{EPOLLIN, {.ptr = nullptr}};
  (void)::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, wake_.get(), &event);
  for (const auto& stream : streams_) {
    if (!stream->ended()) watch_stream(*stream, true);
  }
  watch_.set_wake(wake_.get());
  return epoll_.get();
}

bool TcpConnection::prepare_wait() {
  if (error_ || event_fd() < 0) return false;
  if (outgoing_.has_completions() || owes_acknowledgement()) return false;
  eventfd_t ignored = 0;
  (void)::eventfd_read(wake_.get(), &ignored);
  if (watch_.state() != PeerState::alive || departure_.noted()) return false;
  for (const auto& stream : streams_) {
    if (stream->ended()) continue;
    if (!stream->blocked() && outgoing_.has_frame(stream == streams_.front())) return false;
    watch_stream(*stream, false);
  }
  return true;
}

Connection::Counters TcpConnection::counters() const {
  Counters counters;
  for (const auto& stream : streams_) {
    counters.bytes_sent += stream->bytes_sent();
    counters.bytes_received += stream->bytes_received();
  }
  return counters;
}

}  // namespace sluice::transport::tcp
