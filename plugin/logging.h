// SPDX-License-Identifier: Apache-2.0
// NCCL's logging callback as a Logger. Each communicator brings its own callback.
// Thread rule: as NCCL's callback, any thread.
#pragma once

#include "base/log.h"
#include "plugin/abi/nccl_types.h"

namespace sluice::plugin {

// A null callback gives a Logger that swallows everything.
Logger logger_for(ncclDebugLogger_t callback);

}  // namespace sluice::plugin
