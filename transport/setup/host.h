// SPDX-License-Identifier: Apache-2.0
// Who this host and process are, for set-up. Any thread.
#pragma once

#include <cstdint>
#include <string>

namespace sluice::transport {

// Equal on two processes of one running kernel (a hash of its boot id), different elsewhere; 0:
// unknown.
uint64_t host_identity();
std::string host_name();
// Unpredictable, never 0: nonces and listeners' secrets.
uint64_t random_number();

}  // namespace sluice::transport
