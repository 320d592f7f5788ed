// SPDX-License-Identifier: Apache-2.0
// The few blocking-with-deadline socket calls that the bootstrap needs.
// Thread rule: a descriptor is used by one thread.
#pragma once

#include <span>
#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "perf/driver/descriptor.h"

namespace sluice::perf {

struct HostPort {
  std::string host;
  std::string port;

  static Result<HostPort> parse(const std::string& text);  // host:port, [v6]:port
  std::string text() const;
};

// Listens on `address`; port 0 takes any. `bound` gets the port taken.
Result<Descriptor> listen_on(const HostPort& address, int* bound);
Result<Descriptor> accept_from(const Descriptor& listener, Deadline deadline);
// Tries again until the deadline: the listener may not be there yet.
Result<Descriptor> connect_to(const HostPort& address, Deadline deadline);

Status send_all(const Descriptor& socket, std::span<const std::byte> bytes, Deadline deadline);
Status receive_all(const Descriptor& socket, std::span<std::byte> bytes, Deadline deadline);

}  // namespace sluice::perf
