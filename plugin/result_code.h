// SPDX-License-Identifier: Apache-2.0
// The one place where an Error becomes an ncclResult_t. Any thread.
#pragma once

#include "base/result.h"
#include "plugin/abi/nccl_types.h"

namespace sluice::plugin {

ncclResult_t code_of(const Error& error);

inline ncclResult_t code_of(const Status& status) {
  return status ? ncclSuccess : code_of(status.error());
}

}  // namespace sluice::plugin
