// SPDX-License-Identifier: Apache-2.0
#include "base/config_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/text.h"

namespace sluice {
namespace {

constexpr size_t kMaxFileSize = 1 << 20;

void parse_line(std::string_view line, int number, ConfigFile& file) {
  line = without_blanks(line);
  if (line.empty() || line.front() == '#') return;
  const size_t equals = line.find('=');
  const std::string_view name = without_blanks(line.substr(0, equals));
  if (equals == std::string_view::npos || name.empty()) {
    file.unreadable_lines.push_back(number);
    return;
  }
  const std::string_view value = without_blanks(line.substr(equals + 1));
  file.settings.push_back(Setting{std::string(name), std::string(value), number});
}

}  // namespace

const Setting* ConfigFile::find(std::string_view name) const {
  const auto found = std::find_if(settings.begin(), settings.end(),
                                  [name](const Setting& setting) { return setting.name == name; });
  return found == settings.end() ? nullptr : &*found;
}

ConfigFile parse_config_file(std::string_view text) {
  ConfigFile file;
  int number = 0;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    parse_line(text.substr(0, end), ++number, file);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return file;
}

Result<ConfigFile> read_config_file(const std::string& file) {
  // O_NONBLOCK: a fifo in the place of a file must not hold up the job's start.
  const int fd = ::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return fail_errno(errno, "cannot open " + file);
  std::string text;
  char buffer[4096];
  ssize_t count = 0;
  do {
    count = ::read(fd, buffer, sizeof buffer);
    if (count > 0) text.append(buffer, static_cast<size_t>(count));
  } while ((count > 0 && text.size() <= kMaxFileSize) || (count < 0 && errno == EINTR));
  const int read_errno = errno;
  ::close(fd);
  if (count < 0) return fail_errno(read_errno, "cannot read " + file);
  if (text.size() > kMaxFileSize || text.find('\0') != std::string::npos) {
    return fail(ErrorKind::invalid_usage, file + " is no settings file");
  }
  return parse_config_file(text);
}

}  // namespace sluice
