// SPDX-License-Identifier: Apache-2.0
// libsluice-node.so: a module with one door.
#include <cstring>

#include "base/version.h"
#include "sharp/agg/embedded_node.h"

extern "C" [[gnu::visibility("default")]] sluice::sharp::NodeHostFactory*
sluice_node_host_factory_v1(const char* build) {
  // Types are shared with the caller, so both must have been compiled from the same sources.
  if (build == nullptr || std::strcmp(build, sluice::kGitId) != 0) return nullptr;
  return new sluice::sharp::EmbeddedNodeFactory;
}
