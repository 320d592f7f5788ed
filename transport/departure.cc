// SPDX-License-Identifier: Apache-2.0
#include "transport/departure.h"

#include <cstring>

namespace sluice::transport {

Error Departure::error(const std::string& peer, const Watch& watch) const {
  if (!words_.empty()) return {ErrorKind::remote, 0, peer + " ended the connection: " + words_};
  if (goodbye_) return {ErrorKind::remote, 0, peer + " closed the connection"};
  if (watch.state() != PeerState::alive) return watch.error(peer);
  std::string text = peer + " is gone: its process ended without closing the connection";
  if (error_ != 0) text += format_text(" (%s, errno %d)", std::strerror(error_), error_);
  return {ErrorKind::remote, error_, text};
}

std::string printable(std::string_view text) {
  std::string result(text);
  for (char& character : result) {
    if (character < ' ' || character > '~') character = '?';
  }
  return result;
}

}  // namespace sluice::transport
