// SPDX-License-Identifier: Apache-2.0
// Fabrics to place trees on, described in a line.
#pragma once

#include <string>
#include <vector>

#include "sharp/manager/core/fabric.h"

namespace sluice::manager::testing {

inline constexpr uint64_t kMiB = 1 << 20;
inline constexpr Amounts kRoomy{1000, 1000 * kMiB, 0};

// Hosts "h0", "h1", ... in the order of the leaves, one rail; leaves "l0"...; a node "l0:1" at
// "l0".
FabricDescription one_switch(unsigned hosts, unsigned nodes = 1, const Amounts& capacity = kRoomy);
FabricDescription leaf_spine(unsigned leaves, unsigned spines, unsigned hosts_per_leaf,
                             const Amounts& capacity = kRoomy);
// Three levels: pods of two leaves "l0".. and two spines "s<pod>.<n>"; spine n goes to the cores
// "c<n>.0", "c<n>.1".
FabricDescription fat_tree(unsigned pods, unsigned hosts_per_leaf,
                           const Amounts& capacity = kRoomy);

NodeDescription node_at(const std::string& at, const Amounts& capacity = kRoomy,
                        const std::string& suffix = ":1");
Fabric build(const FabricDescription& description);
// "h0", "h5", ... as members.
std::vector<HostId> hosts(const Fabric& fabric, const std::vector<unsigned>& numbers);
std::vector<HostId> first_hosts(const Fabric& fabric, unsigned count);

}  // namespace sluice::manager::testing
