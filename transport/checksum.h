// SPDX-License-Identifier: Apache-2.0
// A quick 32-bit checksum of headers and handles: it tells garbage, foreign and truncated bytes
// from ours. It guards no payload and proves nothing against malice. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace sluice::transport {

inline uint32_t checksum(const void* data, size_t size) {
  const auto* bytes = static_cast<const unsigned char*>(data);
  uint64_t sum = 0x9e3779b97f4a7c15ULL ^ size;
  const auto mix = [&sum](uint64_t word) {
    sum = (sum ^ word) * 0xd6e8feb86659fd93ULL;
    sum ^= sum >> 32;
  };
  for (; size >= sizeof(uint64_t); size -= sizeof(uint64_t), bytes += sizeof(uint64_t)) {
    uint64_t word = 0;
    std::memcpy(&word, bytes, sizeof word);
    mix(word);
  }
  if (size > 0) {
    uint64_t word = 0;
    std::memcpy(&word, bytes, size);
    mix(word);
  }
  return static_cast<uint32_t>(sum);
}

}  // namespace sluice::transport
