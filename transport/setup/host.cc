// SPDX-License-Identifier: Apache-2.0
#include "transport/setup/host.h"

#include <fcntl.h>
#include <sys/random.h>
#include <unistd.h>

#include <chrono>

#include "transport/checksum.h"
#include "transport/file_descriptor.h"

namespace sluice::transport {

uint64_t host_identity() {
  const FileDescriptor file(::open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC));
  char text[64] = {};
  const ssize_t size = file ? ::read(file.get(), text, sizeof text) : 0;
  if (size <= 0) return 0;
  const auto length = static_cast<size_t>(size);
  const uint64_t identity =
      (static_cast<uint64_t>(checksum(text, length)) << 32) | checksum(text, length / 2);
  return identity != 0 ? identity : 1;
}

std::string host_name() {
  char name[256] = {};
  if (::gethostname(name, sizeof name - 1) != 0 || name[0] == '\0') return "unknown host";
  return name;
}

uint64_t random_number() {
  uint64_t number = 0;
  if (::getrandom(&number, sizeof number, GRND_NONBLOCK) != sizeof number) {
    // Early at boot only: unique will have to do.
    const auto now = std::chrono::steady_clock::now().time_since_epoch().count();
    number = static_cast<uint64_t>(now) * 0x9e3779b97f4a7c15ULL ^ static_cast<uint64_t>(::getpid());
  }
  return number != 0 ? number : 1;
}

}  // namespace sluice::transport
