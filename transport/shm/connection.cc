// SPDX-License-Identifier: Apache-2.0
#include "transport/shm/connection.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cstring>

namespace sluice::transport::shm {

ShmConnection::ShmConnection(Context& context, std::string peer, Parts parts, Watch watch)
    : context_(context),
      peer_(std::move(peer)),
      owner_(::getpid()),
      parts_(std::move(parts)),
      producer_(parts_.segment, parts_.side),
      consumer_(parts_.segment, 1 - parts_.side),
      watch_(std::move(watch)) {
  watch_.set_wake(parts_.own_event.get());
}

Result<std::unique_ptr<MemoryRegion>> ShmConnection::register_memory(void* data, size_t size,
                                                                     MemoryType type) {
  return register_host_memory(Kind::shm, data, size, type);
}

Status ShmConnection::announce(std::span<const LocalWindow> windows,
                               std::span<const std::byte> note) {
  SLUICE_RETURN_IF_ERROR(status());
  SLUICE_RETURN_IF_ERROR(check_announcement(windows, note));
  Control& control = control_.emplace_back();
  control.type = EntryType::announcement;
  control.windows = static_cast<uint32_t>(windows.size());
  control.body.resize(windows.size() * sizeof(RemoteWindow) + note.size());
  std::byte* place = control.body.data();
  for (const LocalWindow& window : windows) {
    revoke(window.id);
    windows_.set(window);
    const RemoteWindow remote{window.id, window.size, reinterpret_cast<uintptr_t>(window.address),
                              mine().generation[window.id].load(std::memory_order_relaxed)};
    std::memcpy(place, &remote, sizeof remote);
    place += sizeof remote;
  }
  if (!note.empty()) std::memcpy(place, note.data(), note.size());
  return {};
}

Status ShmConnection::send_message(std::span<const std::byte> head,
                                   std::span<const std::byte> body) {
  SLUICE_RETURN_IF_ERROR(status());
  SLUICE_RETURN_IF_ERROR(check_message(head.size() + body.size()));
  if (control_.empty()) {
    // The usual case: straight into the ring, no copy of ours.
    EntryHeader header;
    header.type = static_cast<uint8_t>(EntryType::message);
    auto published = producer_.publish(header, head, body, {});
    if (!published) return reject(std::move(published).error());
    touched_ = true;
    if (*published) return {};
  }
  Control& control = control_.emplace_back();
  control.type = EntryType::message;
  control.body.reserve(head.size() + body.size());
  control.body.insert(control.body.end(), head.begin(), head.end());
  control.body.insert(control.body.end(), body.begin(), body.end());
  return {};
}

Status ShmConnection::write(const Write& write) {
  SLUICE_RETURN_IF_ERROR(status());
  SLUICE_RETURN_IF_ERROR(check_write(write));
  PendingWrite& pending = (write.size <= kInline ? small_ : large_).emplace_back();
  pending.write = write;
  pending.write.record = {};
  pending.record_size = write.record.size();
  if (!write.record.empty()) {
    std::memcpy(pending.record.data(), write.record.data(), write.record.size());
  }
  return {};
}

Status ShmConnection::flush() {
  SLUICE_RETURN_IF_ERROR(status());
  Status result = push();
  kick();
  return result;
}

Status ShmConnection::progress(ConnectionHandler& handler) {
  SLUICE_RETURN_IF_ERROR(status());
  if (slept_) {
    slept_ = false;
    eventfd_t ignored = 0;
    mine().sleeping.store(0, std::memory_order_seq_cst);
    (void)::eventfd_read(parts_.own_event.get(), &ignored);
  }
  Status result = push();
  if (result) result = pull(handler);
  if (result) result = complete(handler);
  // What the handler posted should not wait for the next call; large writes may.
  if (result && !(control_.empty() && small_.empty())) result = push();
  kick();
  if (result) result = check_departure();
  return result;
}

Status ShmConnection::complete(ConnectionHandler& handler) {
  // Tokens that the handler's own posts complete wait for the next call.
  for (size_t left = completed_.size(); left > 0; --left) {
    const uint64_t token = completed_.front();
    completed_.pop_front();
    SLUICE_RETURN_IF_ERROR(handled(handler.on_written(token)));
  }
  return {};
}

void ShmConnection::kick() {
  if (!touched_) return;
  touched_ = false;
  if (theirs().sleeping.load(std::memory_order_seq_cst) == 0) return;
  if (theirs().sleeping.exchange(0, std::memory_order_seq_cst) == 0) return;
  (void)::eventfd_write(parts_.peer_event.get(), 1);
}

bool ShmConnection::prepare_wait() {
  if (error_ || !completed_.empty()) return false;
  if (!large_.empty() && writes_directly()) return false;
  kick();
  slept_ = true;
  mine().sleeping.store(1, std::memory_order_seq_cst);
  // Look again after saying so: the peer either sees the flag or was seen.
  bool work = !consumer_.empty() || watch_.state() != PeerState::alive ||
              theirs().closed.load(std::memory_order_seq_cst) != 0;
  if (!work && !(awaited_.empty() && control_.empty() && small_.empty() && large_.empty())) {
    const uint64_t tail_before = last_tail_;
    const auto tail = producer_.consumed();
    work = !tail || *tail != tail_before;
  }
  if (work) mine().sleeping.store(0, std::memory_order_seq_cst);
  return !work;
}

Connection::Counters ShmConnection::counters() const {
  return {producer_.head() + direct_sent_, consumer_.tail() + direct_received_};
}

}  // namespace sluice::transport::shm
