// SPDX-License-Identifier: Apache-2.0
// The receiving half of a shm connection. What is in the ring may change while it is read: heads
// are copied before anybody looks at them, every number is checked in the copy.
#include <array>
#include <cstring>

#include "transport/shm/connection.h"

namespace sluice::transport::shm {

Status ShmConnection::pull(ConnectionHandler& handler) {
  size_t bytes = 0;
  for (int i = 0; i < kPullEntries && bytes < kPullBudget; ++i) {
    auto entry = consumer_.peek();
    if (!entry) return reject({entry.error().kind, 0, peer_ + " " + entry.error().message});
    if (!*entry) return {};
    bytes += (*entry)->header.size;
    touched_ = true;
    Status taken = take(**entry, handler);
    if (error_) return status();
    if (!taken) return reject({taken.error().kind, 0, peer_ + " " + taken.error().message});
  }
  return {};
}

std::span<const std::byte> ShmConnection::copy_head(const Entry& entry) {
  std::memcpy(head_copy_.data(), entry.head, entry.header.head_size);
  return {head_copy_.data(), entry.header.head_size};
}

Status ShmConnection::take(const Entry& entry, ConnectionHandler& handler) {
  switch (static_cast<EntryType>(entry.header.type)) {
    case EntryType::message: {
      const auto message = copy_head(entry);
      consumer_.pop();
      return handled(handler.on_message(message));
    }
    case EntryType::announcement:
      return take_announcement(entry, handler);
    case EntryType::piece:
    case EntryType::arrival:
      return take_piece(entry, handler);
    case EntryType::goodbye: {
      const auto words = copy_head(entry);
      consumer_.pop();
      departure_.say(printable({reinterpret_cast<const char*>(words.data()), words.size()}));
      departure_.note();
      return {};
    }
    case EntryType::padding:
      break;
  }
  return fail(ErrorKind::remote,
              format_text("sent an entry of unknown type %u", entry.header.type));
}

Status ShmConnection::take_announcement(const Entry& entry, ConnectionHandler& handler) {
  const size_t count = entry.header.window;
  const auto head = copy_head(entry);
  consumer_.pop();
  if (count > kMaxWindowsPerNote || head.size() < count * sizeof(RemoteWindow) ||
      head.size() - count * sizeof(RemoteWindow) > kMaxNote) {
    return fail(ErrorKind::remote, "sent an announcement that cannot be right");
  }
  std::array<RemoteWindow, kMaxWindowsPerNote> windows;
  for (size_t i = 0; i < count; ++i) {
    std::memcpy(&windows[i], head.data() + i * sizeof(RemoteWindow), sizeof(RemoteWindow));
    if (windows[i].id >= kMaxWindows) {
      return fail(ErrorKind::remote, "announced a window beyond the largest number");
    }
  }
  return handled(handler.on_announcement(std::span(windows.data(), count),
                                         head.subspan(count * sizeof(RemoteWindow))));
}

Status ShmConnection::take_piece(const Entry& entry, ConnectionHandler& handler) {
  const EntryHeader& header = entry.header;
  const bool direct = static_cast<EntryType>(header.type) == EntryType::arrival;
  auto place = windows_.locate(header.window, header.offset, header.whole_size);
  if (!place) return fail(ErrorKind::remote, "sent " + place.error().message);
  const bool fits = header.position <= header.whole_size &&
                    header.payload_size <= header.whole_size - header.position;
  if (!fits || header.head_size > kMaxRecord) {
    return fail(ErrorKind::remote, "sent a piece that does not belong to its write");
  }
  if (header.payload_size > 0) {
    std::memcpy(*place + header.position, entry.payload, header.payload_size);
  }
  const auto record = copy_head(entry);
  consumer_.pop();
  if (direct) direct_received_ += header.whole_size;
  if (!direct && header.last == 0) return {};
  return handled(handler.on_arrival(header.window, header.offset, header.whole_size, record));
}

}  // namespace sluice::transport::shm
