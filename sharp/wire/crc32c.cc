// SPDX-License-Identifier: Apache-2.0
#include "sharp/wire/crc32c.h"

#include <cstring>

#include "sharp/wire/crc32c_tables.h"

#if defined(__x86_64__)
#include <nmmintrin.h>
#elif defined(__aarch64__)
#include <arm_acle.h>
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

namespace sluice::sharp {
namespace {

// Table k advances by k more zero bytes: a word is folded in by four look-ups.
constexpr Crc32cTables make_word_tables() {
  Crc32cTables tables{};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t value = byte;
    for (int bit = 0; bit < 8; ++bit) value = crc32c_times_x(value);
    tables[0][byte] = value;
  }
  for (size_t k = 1; k < 4; ++k) {
    for (uint32_t byte = 0; byte < 256; ++byte) {
      const uint32_t before = tables[k - 1][byte];
      tables[k][byte] = (before >> 8) ^ tables[0][before & 0xff];
    }
  }
  return tables;
}
constexpr Crc32cTables kWord = make_word_tables();

uint32_t by_tables(std::span<const std::byte> data, uint32_t before) {
  uint32_t value = ~before;
  const auto* next = reinterpret_cast<const unsigned char*>(data.data());
  size_t left = data.size();
  for (; left >= 4; left -= 4, next += 4) {
    value ^= static_cast<uint32_t>(next[0]) | static_cast<uint32_t>(next[1]) << 8 |
             static_cast<uint32_t>(next[2]) << 16 | static_cast<uint32_t>(next[3]) << 24;
    value = kWord[3][value & 0xff] ^ kWord[2][(value >> 8) & 0xff] ^
            kWord[1][(value >> 16) & 0xff] ^ kWord[0][value >> 24];
  }
  for (; left > 0; --left) value = (value >> 8) ^ kWord[0][(value ^ *next++) & 0xff];
  return ~value;
}

#if defined(__x86_64__) || defined(__aarch64__)

#if defined(__x86_64__)
#define SLUICE_CRC_TARGET __attribute__((target("sse4.2")))
SLUICE_CRC_TARGET inline uint64_t step8(uint64_t value, uint64_t word) {
  return _mm_crc32_u64(value, word);
}
SLUICE_CRC_TARGET inline uint32_t step1(uint32_t value, unsigned char byte) {
  return _mm_crc32_u8(value, byte);
}
bool has_instruction() {
  return __builtin_cpu_supports("sse4.2") != 0;
}
#else
#define SLUICE_CRC_TARGET __attribute__((target("+crc")))
SLUICE_CRC_TARGET inline uint64_t step8(uint64_t value, uint64_t word) {
  return __crc32cd(static_cast<uint32_t>(value), word);
}
SLUICE_CRC_TARGET inline uint32_t step1(uint32_t value, unsigned char byte) {
  return __crc32cb(value, byte);
}
bool has_instruction() {
  return (getauxval(AT_HWCAP) & HWCAP_CRC32) != 0;
}
#endif

inline uint64_t load8(const unsigned char* from) {
  uint64_t word;
  std::memcpy(&word, from, sizeof word);
  return word;
}

// The instruction takes three cycles but starts one a cycle: three neighbouring lanes are summed at
// once, then the first two are advanced over what follows them.
constexpr size_t kLongLane = 4096;
constexpr size_t kShortLane = 256;
constexpr Crc32cTables kLongShift = crc32c_multiplier(crc32c_zeros(kLongLane));
constexpr Crc32cTables kShortShift = crc32c_multiplier(crc32c_zeros(kShortLane));

template <size_t Lane>
SLUICE_CRC_TARGET uint64_t three_lanes(uint64_t first, const unsigned char*& next, size_t& left,
                                       const Crc32cTables& shift) {
  while (left >= 3 * Lane) {
    uint64_t second = 0;
    uint64_t third = 0;
    for (size_t at = 0; at < Lane; at += 8) {
      first = step8(first, load8(next + at));
      second = step8(second, load8(next + Lane + at));
      third = step8(third, load8(next + 2 * Lane + at));
    }
    first = crc32c_apply(shift, static_cast<uint32_t>(first)) ^ second;
    first = crc32c_apply(shift, static_cast<uint32_t>(first)) ^ third;
    next += 3 * Lane;
    left -= 3 * Lane;
  }
  return first;
}

SLUICE_CRC_TARGET uint32_t by_instruction(std::span<const std::byte> data, uint32_t before) {
  uint64_t value = ~before;
  const auto* next = reinterpret_cast<const unsigned char*>(data.data());
  size_t left = data.size();
  value = three_lanes<kLongLane>(value, next, left, kLongShift);
  value = three_lanes<kShortLane>(value, next, left, kShortShift);
  for (; left >= 8; left -= 8, next += 8) value = step8(value, load8(next));
  auto rest = static_cast<uint32_t>(value);
  for (; left > 0; --left) rest = step1(rest, *next++);
  return ~rest;
}

constexpr Crc32cImplementation kImplementations[] = {{"instruction", by_instruction},
                                                     {"tables", by_tables}};
#else
bool has_instruction() {
  return false;
}
constexpr Crc32cImplementation kImplementations[] = {{"", nullptr}, {"tables", by_tables}};
#endif

}  // namespace

uint32_t crc32c(std::span<const std::byte> data, uint32_t before) {
  return crc32c_implementations().front().function(data, before);
}

std::span<const Crc32cImplementation> crc32c_implementations() {
  const std::span<const Crc32cImplementation> all(kImplementations);
  return has_instruction() ? all : all.subspan(1);
}

}  // namespace sluice::sharp
