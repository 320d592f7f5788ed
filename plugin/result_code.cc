// SPDX-License-Identifier: Apache-2.0
#include "plugin/result_code.h"

namespace sluice::plugin {

ncclResult_t code_of(const Error& error) {
  switch (error.kind) {
    case ErrorKind::system:
      return ncclSystemError;
    case ErrorKind::remote:
    case ErrorKind::timeout:
    case ErrorKind::refused:
      return ncclRemoteError;
    case ErrorKind::invalid_argument:
      return ncclInvalidArgument;
    case ErrorKind::invalid_usage:
      return ncclInvalidUsage;
    case ErrorKind::internal:
      break;
  }
  return ncclInternalError;
}

}  // namespace sluice::plugin
