// SPDX-License-Identifier: Apache-2.0
// Reads what `ibnetdiscover` (infiniband-diags) prints about a subnet.
//
// Switches are named by their node id ("S-0002c90200408000"), their description is the alias. A
// channel adaptor's description is "host adaptor" ("gpu07 mlx5_1", "gpu07 HCA-2"), or
// "host-r1" where there is no second word (simulated fabrics): rail 1. All adaptor ports
// of one name in the fabric are one rail, numbered in the order of their names, so a host that lost
// a link keeps its other rails' numbers; rails from 16 on are left out. A link's rate is its width
// times the data rate of its speed.
#pragma once

#include <string_view>

#include "base/result.h"
#include "sharp/manager/core/fabric_description.h"

namespace sluice::manager {

// For Fabric::merge() as a sweep. An Error names the line.
Result<FabricDescription> read_ibnetdiscover(std::string_view text);

}  // namespace sluice::manager
