// SPDX-License-Identifier: Apache-2.0
// What a node counts about the data that goes through it, over all groups. One thread.
#pragma once

#include <cstdint>

namespace sluice::sharp {

struct DataCounters {
  uint64_t chunks = 0;           // combined
  uint64_t bytes = 0;            // of their payloads
  uint64_t checksum_errors = 0;  // chunks and results that arrived damaged, and were not used
  uint64_t resent = 0;           // chunks and results sent again because somebody asked
  uint64_t wrong = 0;            // that another node has computed wrongly (docs/verification.md)
};

}  // namespace sluice::sharp
