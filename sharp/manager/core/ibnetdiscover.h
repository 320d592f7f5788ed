// SPDX-License-Identifier: Apache-2.0
// Reads what `ibnetdiscover` (infiniband-diags) prints about a subnet.
//
// Switches are named by their node id ("S-0002c90200408000"), their description is the alias. A
// host is the first word of a channel adaptor's description ("gpu07 mlx5_1", or "gpu07-r1"
// as a whole); its adaptors and their ports are its rails, in the order of their names. A port's
// rate is its width times its speed. A link that one side does not report is not there.
#pragma once

#include <string_view>

#include "base/result.h"
#include "sharp/manager/core/fabric_description.h"

namespace sluice::manager {

// An Error names the line.
Result<FabricDescription> read_ibnetdiscover(std::string_view text);

}  // namespace sluice::manager
