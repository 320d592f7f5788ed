// SPDX-License-Identifier: Apache-2.0
// CRC32C (Castagnoli, reflected, as iSCSI and RFC 3720 use it): the integrity check of every chunk.
//
// The CPU's own instruction where it has one (found at run time), tables otherwise. Not isa-l: the
// plugin is loaded into other people's processes and must pull no shared library for one function.
// Thread rule: any thread; no state.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace sluice::sharp {

// The checksum of `data`; `before` is the checksum of what came before it (0: nothing).
uint32_t crc32c(std::span<const std::byte> data, uint32_t before = 0);

// The implementations that this CPU can run, each to be tested against the others.
struct Crc32cImplementation {
  const char* name;
  uint32_t (*function)(std::span<const std::byte> data, uint32_t before);
};
std::span<const Crc32cImplementation> crc32c_implementations();

}  // namespace sluice::sharp
