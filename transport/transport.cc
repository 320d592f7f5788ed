// SPDX-License-Identifier: Apache-2.0
#include "transport/transport.h"

namespace sluice::transport {

const char* name_of(Kind kind) {
  switch (kind) {
    case Kind::tcp:
      return "tcp";
    case Kind::shm:
      return "shm";
    case Kind::verbs:
      return "verbs";
    case Kind::ucx:
      return "ucx";
  }
  return "unknown";
}

}  // namespace sluice::transport
