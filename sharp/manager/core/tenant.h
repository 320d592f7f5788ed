// SPDX-License-Identifier: Apache-2.0
// What a tenant is sure of and what it may take at most.
#pragma once

#include <string>

#include "sharp/manager/core/amounts.h"
#include "sharp/manager/core/fabric_description.h"

namespace sluice::manager {

struct TenantQuota {
  std::string tenant;
  Amounts reserved_per_node;  // kept free for the tenant on every node
  // Over all nodes together; groups counts a group once per node.
  Amounts limit{UINT32_MAX, UINT64_MAX, UINT64_MAX};
};

}  // namespace sluice::manager
