// SPDX-License-Identifier: Apache-2.0
// The module that brings an aggregation node into a rank's process: libsluice-node.so, from the
// plugin's own folder.
//
// The plugin itself links no kernels; it loads them when in-network reduction is set up and may
// have to go on without its tree. A module that was loaded stays for as long as the process does,
// as other libraries do. Thread rule: any.
#pragma once

#include <memory>

#include "base/result.h"
#include "sharp/client/node_host.h"

namespace sluice::plugin::collnet {

// An error says which file is missing or wrong, and what brings it.
Result<std::shared_ptr<sharp::NodeHostFactory>> load_node_module();

}  // namespace sluice::plugin::collnet
