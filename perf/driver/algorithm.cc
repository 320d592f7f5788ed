// SPDX-License-Identifier: Apache-2.0
#include "perf/driver/algorithm.h"

namespace sluice::perf {

const char* name_of(Collective collective) {
  switch (collective) {
    case Collective::allreduce:
      return "allreduce";
    case Collective::allgather:
      return "allgather";
    case Collective::reduce_scatter:
      return "reducescatter";
  }
  return "unknown collective";
}

}  // namespace sluice::perf
