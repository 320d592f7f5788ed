// SPDX-License-Identifier: Apache-2.0
// Small things done to texts. Any thread.
#pragma once

#include <string>
#include <string_view>

namespace sluice {

inline std::string_view without_blanks(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\v\f";
  const size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

// One line that cannot disturb a log, whatever a stranger wrote: control characters become '?',
// what is longer than `most` ends in "...".
inline std::string printable(std::string_view text, size_t most = 200) {
  std::string line(text.substr(0, most));
  for (char& c : line) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  }
  if (text.size() > most) line += "...";
  return line;
}

}  // namespace sluice
