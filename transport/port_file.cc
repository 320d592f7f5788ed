// SPDX-License-Identifier: Apache-2.0
#include "transport/port_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "transport/file_descriptor.h"

namespace sluice::transport {

Status write_port_file(const std::string& name, uint16_t port) {
  const std::string aside = format_text("%s.%d", name.c_str(), static_cast<int>(::getpid()));
  const std::string text = std::to_string(port) + "\n";
  {
    const FileDescriptor file(
        ::open(aside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
    if (!file) return fail_errno(errno, "opening " + aside);
    if (::write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
      return fail_errno(errno, "writing " + aside);
    }
  }
  if (::rename(aside.c_str(), name.c_str()) != 0) {
    const int error = errno;
    ::unlink(aside.c_str());
    return fail_errno(error, "renaming " + aside + " to " + name);
  }
  return {};
}

}  // namespace sluice::transport
