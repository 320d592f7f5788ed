// SPDX-License-Identifier: Apache-2.0
// The end of a shm connection, and the gate that keeps the peer's writes out of memory that was
// given back.
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <thread>

#include "transport/shm/connection.h"

namespace sluice::transport::shm {

ShmConnection::~ShmConnection() {
  // In a forked child the segment is still the parent's connection: it is only unmapped.
  if (::getpid() != owner_ || error_) return;
  EntryHeader header;
  header.type = static_cast<uint8_t>(EntryType::goodbye);
  (void)producer_.publish(header, {}, {}, {});
  close_gate();
}

Status ShmConnection::status() const {
  if (error_) return fail(*error_);
  return {};
}

// From the moment `closed` is set no piece of the peer's starts; one under way is waited for, but
// not for ever: the peer may be stopped in the middle of it.
void ShmConnection::close_gate() {
  mine().closed.store(1, std::memory_order_seq_cst);
  touched_ = true;
  kick();
  const Deadline deadline = Deadline::after(kGatePatience);
  while (theirs().writing.load(std::memory_order_seq_cst) != 0 && !deadline.passed()) {
    const PeerState state = watch_.state();
    if (state == PeerState::lost || state == PeerState::closed) return;
    std::this_thread::yield();
  }
}

void ShmConnection::revoke(WindowId window) {
  mine().generation[window].fetch_add(1, std::memory_order_seq_cst);
  const Deadline deadline = Deadline::after(kGatePatience);
  while (theirs().writing.load(std::memory_order_seq_cst) == window + 1 && !deadline.passed()) {
    const PeerState state = watch_.state();
    if (state == PeerState::lost || state == PeerState::closed) return;
    std::this_thread::yield();
  }
}

void ShmConnection::withdraw(WindowId window) {
  if (!windows_.announced(window)) return;
  windows_.withdraw(window);
  if (!error_) revoke(window);
}

void ShmConnection::end_with(Error error, const std::string& words) {
  error_ = std::move(error);
  EntryHeader header;
  header.type = static_cast<uint8_t>(EntryType::goodbye);
  const auto text = std::as_bytes(std::span(words)).first(std::min<size_t>(words.size(), 256));
  if (!words.empty()) (void)producer_.publish(header, text, {}, {});
  close_gate();
  watch_.end();
}

Status ShmConnection::reject(Error error) {
  if (error_) return status();
  SLUICE_WARN(context_.logger(), net, "shm: %s", error.message.c_str());
  const std::string words = "the other side says: " + error.message;
  end_with(std::move(error), words);
  return status();
}

// A handler's error is the caller's own and was logged by whoever decided it.
Status ShmConnection::handled(Status status_of_handler) {
  if (error_) return status();
  if (status_of_handler) return {};
  const std::string words = "the other side failed: " + status_of_handler.error().message;
  end_with(std::move(status_of_handler).error(), words);
  return status();
}

Status ShmConnection::check_departure() {
  const bool closed = theirs().closed.load(std::memory_order_seq_cst) != 0;
  if (!closed && watch_.state() == PeerState::alive) return {};
  // What it published before it went is delivered first.
  if (!consumer_.empty()) return {};
  if (closed) departure_.say({});
  Error error = departure_.error(peer_, watch_);
  SLUICE_LOG(context_.logger(), departure_.orderly() ? LogLevel::info : LogLevel::warn,
             LogSubsystem::net, "shm: %s", error.message.c_str());
  end_with(std::move(error), {});
  return status();
}

}  // namespace sluice::transport::shm
