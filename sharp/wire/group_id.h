// SPDX-License-Identifier: Apache-2.0
// The name of a group: 128 random bits, drawn by rank 0, so that no two jobs ever meet on a node.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "base/result.h"

namespace sluice::sharp {

using GroupId = std::array<uint8_t, 16>;

Result<GroupId> random_group_id();
std::string text_of(
    const GroupId& id);  // the first 8 bytes in hex: enough to tell groups apart in a log

}  // namespace sluice::sharp
