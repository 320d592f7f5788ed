// SPDX-License-Identifier: Apache-2.0
// The socket options of Sluice's TCP sockets. Any thread.
#pragma once

#include "base/result.h"
#include "transport/endpoint.h"
#include "transport/file_descriptor.h"

namespace sluice::transport {

enum class SocketRole {
  setup,  // set-up, then liveness: small, read all the time
  data,   // a stream of a tcp connection
};

// A non-blocking stream socket with the options of `role`, ready to connect.
Result<FileDescriptor> make_socket(int family, SocketRole role, const Settings& settings);
// Best effort: a refused option costs speed or a delay, never correctness.
void apply_options(int socket, int family, SocketRole role, const Settings& settings);
// Whether the kernel has and allows this congestion control; the error names what it offers.
Status check_congestion_control(const std::string& name);
void set_type_of_service(int socket, int family, int type_of_service);

}  // namespace sluice::transport
