// SPDX-License-Identifier: Apache-2.0
// Reads the topology file (TOML): switches, links, hosts, nodes, and the tenants' quotas.
// docs/manager.md describes it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "sharp/manager/core/fabric_description.h"
#include "sharp/manager/core/tenant.h"

namespace sluice::manager {

struct TopologyFile {
  FabricDescription fabric;
  std::vector<TenantQuota> tenants;
};

// `name` is for the errors, which give line and column.
Result<TopologyFile> read_topology_file(std::string_view text, const std::string& name);

}  // namespace sluice::manager
