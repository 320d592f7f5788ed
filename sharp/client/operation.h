// SPDX-License-Identifier: Apache-2.0
// One posted allreduce: what is to be done and how far it is. A slot in its client; sizes are
// bytes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "sharp/client/client.h"
#include "sharp/wire/chunk.h"

namespace sluice::sharp {

class GroupClient;

struct Operation {
  GroupClient* client = nullptr;
  uint32_t index = 0;  // in its client; also the number of its result window
  bool in_use = false;

  AllreduceArguments arguments;
  TrafficClass traffic_class = TrafficClass::latency;
  uint64_t number = 0;  // in the group
  uint64_t bytes = 0;
  uint64_t chunks = 0;
  uint64_t sent = 0;      // chunks that were posted,
  uint64_t released = 0;  // whose memory the transport has let go of,
  uint64_t arrived = 0;   // and whose result is in place

  bool done() const { return arrived == chunks && released == chunks; }
};

}  // namespace sluice::sharp
