// SPDX-License-Identifier: Apache-2.0
// The sending half of a shm connection: what was posted goes into the ring or straight into the
// peer's memory.
#include <algorithm>
#include <cerrno>

#include "transport/shm/connection.h"

namespace sluice::transport::shm {

Status ShmConnection::push() {
  SLUICE_RETURN_IF_ERROR(collect_landed());
  auto more = push_control();
  if (more && *more) more = push_small();
  if (!more) return reject(std::move(more).error());
  return push_large();
}

// Confirmations of writes that went through the ring: the consumer has taken them out.
Status ShmConnection::collect_landed() {
  const bool blocked = !control_.empty() || !small_.empty() || !large_.empty();
  if (awaited_.empty() && !blocked) return {};
  const auto tail = producer_.consumed();
  if (!tail) return reject(tail.error());
  last_tail_ = *tail;
  for (; !awaited_.empty() && awaited_.front().position <= *tail; awaited_.pop_front()) {
    completed_.push_back(awaited_.front().token);
  }
  return {};
}

// True: all of it is in the ring.
Result<bool> ShmConnection::push_control() {
  for (; !control_.empty(); control_.pop_front()) {
    const Control& control = control_.front();
    EntryHeader header;
    header.type = static_cast<uint8_t>(control.type);
    header.window = control.windows;
    auto published = producer_.publish(header, control.body, {}, {});
    if (!published || !*published) return published;
    touched_ = true;
  }
  return true;
}

Result<bool> ShmConnection::push_small() {
  for (; !small_.empty(); small_.pop_front()) {
    auto published = publish_piece(small_.front(), small_.front().write.size);
    if (!published || !*published) return published;
  }
  return true;
}

// The next `size` bytes of a write; the last piece carries its record.
Result<bool> ShmConnection::publish_piece(PendingWrite& pending, size_t size) {
  const Write& write = pending.write;
  EntryHeader header;
  header.type = static_cast<uint8_t>(EntryType::piece);
  header.last = pending.done + size == write.size;
  header.window = write.window.id;
  header.offset = write.offset;
  header.whole_size = write.size;
  header.position = pending.done;
  const std::span<const std::byte> record =
      header.last != 0 ? pending.record_bytes() : std::span<const std::byte>();
  const std::span<const std::byte> payload =
      size > 0 ? std::span(write.data + pending.done, size) : std::span<const std::byte>();
  auto published = producer_.publish(header, record, {}, payload);
  if (!published || !*published) return published;
  touched_ = true;
  pending.done += size;
  if (header.last == 0) return true;
  if (write.confirm == Confirm::landed) {
    awaited_.push_back({producer_.head(), write.token});
  } else {
    completed_.push_back(write.token);
  }
  return true;
}

Status ShmConnection::push_large() {
  size_t budget = kPushBudget;
  while (!large_.empty() && budget > 0) {
    PendingWrite& pending = large_.front();
    auto finished =
        writes_directly() ? push_directly(pending, budget) : push_through_ring(pending, budget);
    if (error_) return status();
    if (!finished) return reject(std::move(finished).error());
    if (!*finished) return {};
    large_.pop_front();
  }
  return {};
}

Result<bool> ShmConnection::push_through_ring(PendingWrite& pending, size_t& budget) {
  while (pending.done < pending.write.size) {
    const size_t size = std::min(kMaxEntryPayload, pending.write.size - pending.done);
    if (budget < size) {
      budget = 0;
      return false;
    }
    auto published = publish_piece(pending, size);
    if (!published || !*published) return published;
    budget -= size;
  }
  return true;
}

// True: all bytes are in the window and the peer is told.
Result<bool> ShmConnection::push_directly(PendingWrite& pending, size_t& budget) {
  const Write& write = pending.write;
  const size_t size = std::min(budget, write.size - pending.done);
  if (size > 0) {
    mine().writing.store(write.window.id + 1, std::memory_order_seq_cst);
    const bool closed = theirs().closed.load(std::memory_order_seq_cst) != 0;
    const uint32_t current = theirs().generation[write.window.id].load(std::memory_order_seq_cst);
    const bool stale = current != write.window.key || current == 0;
    Result<size_t> written = size_t{0};
    if (!closed && !stale) {
      written = parts_.peer_memory.write(write.window.address + write.offset + pending.done,
                                         write.data + pending.done, size);
    }
    mine().writing.store(0, std::memory_order_seq_cst);
    if (closed) return false;  // check_departure() tells
    if (stale) {
      return fail(
          ErrorKind::invalid_usage,
          format_text("%s: a write into window %u, which the peer does not announce (any more)",
                      peer_.c_str(), write.window.id));
    }
    if (!written) {
      SLUICE_RETURN_IF_ERROR(direct_failed(pending, written.error()));
      return false;
    }
    pending.done += *written;
    direct_sent_ += *written;
    budget -= *written;
  }
  if (pending.done < write.size) return false;
  EntryHeader header;
  header.type = static_cast<uint8_t>(EntryType::arrival);
  header.window = write.window.id;
  header.offset = write.offset;
  header.whole_size = write.size;
  auto published = producer_.publish(header, pending.record_bytes(), {}, {});
  if (!published || !*published) return published;
  touched_ = true;
  completed_.push_back(write.token);
  return true;
}

Status ShmConnection::direct_failed(PendingWrite& pending, const Error& error) {
  if (error.system_errno == ESRCH) {
    departure_.note();
    return {};
  }
  if (error.system_errno == EPERM || error.system_errno == ENOSYS) {
    SLUICE_INFO(context_.logger(), net,
                "shm: %s: %s; large writes go through the ring from here on", peer_.c_str(),
                error.message.c_str());
    parts_.peer_memory = PeerMemory();
    pending.done = 0;
    return {};
  }
  return fail({ErrorKind::remote, error.system_errno,
               format_text("%s: window %u: %s", peer_.c_str(), pending.write.window.id,
                           error.message.c_str())});
}

}  // namespace sluice::transport::shm
