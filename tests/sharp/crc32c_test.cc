// SPDX-License-Identifier: Apache-2.0
// CRC32C: known vectors, and all implementations against a bit-by-bit one.
#include "sharp/wire/crc32c.h"

#include <gtest/gtest.h>

#include <random>
#include <string_view>
#include <vector>

namespace sluice::sharp {
namespace {

std::span<const std::byte> bytes_of(std::string_view text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

uint32_t bit_by_bit(std::span<const std::byte> data) {
  uint32_t value = 0xffffffff;
  for (const std::byte byte : data) {
    value ^= static_cast<uint32_t>(byte);
    for (int bit = 0; bit < 8; ++bit) {
      value = (value & 1) != 0 ? (value >> 1) ^ 0x82f63b78 : value >> 1;
    }
  }
  return ~value;
}

std::vector<std::byte> random_bytes(size_t size, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<std::byte> bytes(size);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
  return bytes;
}

TEST(Crc32c, KnownVectors) {
  // RFC 3720, appendix B.4.
  std::vector<std::byte> counting(32);
  for (size_t at = 0; at < 32; ++at) counting[at] = static_cast<std::byte>(at);
  for (const auto& implementation : crc32c_implementations()) {
    SCOPED_TRACE(implementation.name);
    EXPECT_EQ(implementation.function({}, 0), 0u);
    EXPECT_EQ(implementation.function(bytes_of("123456789"), 0), 0xe3069283u);
    EXPECT_EQ(implementation.function(std::vector<std::byte>(32), 0), 0x8a9136aau);
    EXPECT_EQ(implementation.function(std::vector<std::byte>(32, std::byte{0xff}), 0), 0x62a8ab43u);
    EXPECT_EQ(implementation.function(counting, 0), 0x46dd794eu);
  }
}

TEST(Crc32c, ImplementationsAgreeAtAllSizesAndPlaces) {
  const auto data = random_bytes(3 * 4096 * 2 + 3 * 256 + 50, 7);
  const std::span<const std::byte> all(data);
  for (const size_t size : {0,   1,   2,   3,   4,    7,     8,     9,     31,    255,   256,
                            767, 768, 769, 800, 4095, 12287, 12288, 12289, 13056, 24576, 25000}) {
    for (size_t at = 0; at < 9; ++at) {
      const auto piece = all.subspan(at, size);
      const uint32_t expected = bit_by_bit(piece);
      for (const auto& implementation : crc32c_implementations()) {
        ASSERT_EQ(implementation.function(piece, 0), expected)
            << implementation.name << ", " << size << " bytes at " << at;
      }
    }
  }
}

TEST(Crc32c, GoesOnWhereItStopped) {
  const auto data = random_bytes(20000, 9);
  const std::span<const std::byte> all(data);
  for (const auto& implementation : crc32c_implementations()) {
    const uint32_t whole = implementation.function(all, 0);
    for (const size_t cut : {0, 1, 13, 4096, 12288, 19999, 20000}) {
      const uint32_t first = implementation.function(all.first(cut), 0);
      EXPECT_EQ(implementation.function(all.subspan(cut), first), whole) << cut;
    }
  }
}

}  // namespace
}  // namespace sluice::sharp
