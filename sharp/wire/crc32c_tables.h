// SPDX-License-Identifier: Apache-2.0
// Tables for CRC32C, computed by the compiler from the polynomial.
//
// Bits are reflected: bit 31 of a word is the coefficient of x^0.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace sluice::sharp {

inline constexpr uint32_t kCrc32cPolynomial = 0x82f63b78;

// One step of multiplying by x.
constexpr uint32_t crc32c_times_x(uint32_t value) {
  return (value >> 1) ^ ((value & 1) != 0 ? kCrc32cPolynomial : 0);
}

// a * b modulo the polynomial.
constexpr uint32_t crc32c_multiply(uint32_t a, uint32_t b) {
  uint32_t product = 0;
  for (uint32_t bit = 0x80000000; bit != 0; bit >>= 1) {
    if ((a & bit) != 0) product ^= b;
    b = crc32c_times_x(b);
  }
  return product;
}

// x^(8 * bytes): the factor by which `bytes` zero bytes advance a checksum.
constexpr uint32_t crc32c_zeros(size_t bytes) {
  uint32_t square = 0x00800000;  // x^8
  uint32_t factor = 0x80000000;  // 1
  for (; bytes != 0; bytes >>= 1) {
    if ((bytes & 1) != 0) factor = crc32c_multiply(factor, square);
    square = crc32c_multiply(square, square);
  }
  return factor;
}

// Four tables by which a checksum is multiplied with a constant, a byte at a time.
using Crc32cTables = std::array<std::array<uint32_t, 256>, 4>;

constexpr Crc32cTables crc32c_multiplier(uint32_t factor) {
  Crc32cTables tables{};
  for (size_t byte = 0; byte < 4; ++byte) {
    for (uint32_t bit = 0; bit < 8; ++bit) {
      tables[byte][1u << bit] = crc32c_multiply(1u << (8 * byte + bit), factor);
    }
    for (uint32_t value = 1; value < 256; ++value) {
      const uint32_t low = value & (~value + 1);
      tables[byte][value] = tables[byte][low] ^ tables[byte][value ^ low];
    }
  }
  return tables;
}

constexpr uint32_t crc32c_apply(const Crc32cTables& tables, uint32_t value) {
  return tables[0][value & 0xff] ^ tables[1][(value >> 8) & 0xff] ^
         tables[2][(value >> 16) & 0xff] ^ tables[3][value >> 24];
}

}  // namespace sluice::sharp
