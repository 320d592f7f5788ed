// SPDX-License-Identifier: Apache-2.0
// Tells scripts and tests which port a daemon got.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace sluice::transport {

// Written aside and renamed: whoever sees the file sees the whole number.
Status write_port_file(const std::string& name, uint16_t port);

}  // namespace sluice::transport
