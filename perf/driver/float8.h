// SPDX-License-Identifier: Apache-2.0
// 8-bit floats to and from fp32 without branches; rules as in float16.h.
//
// E4M3 is the OCP format without infinities (0x7f is the NaN, 448 the largest number), E5M2 the
// upper byte of a half. Narrowing rounds to nearest even and saturates, as CUDA's conversions do by
// default.
#pragma once

#include "perf/driver/float16.h"

namespace sluice::perf {
namespace {

struct Float8E4m3 {
  uint8_t bits;
};
struct Float8E5m2 {
  uint8_t bits;
};

inline float widen(Float8E4m3 value) {
  const uint32_t sign = (value.bits & 0x80u) << 24;
  const uint32_t magnitude = (value.bits & 0x7fu) << 20;
  const float scaled = __builtin_bit_cast(float, magnitude) * 0x1p120f;
  const uint32_t finite = __builtin_bit_cast(uint32_t, scaled);
  const uint32_t bits = magnitude == 0x07f00000u ? 0x7fc00000u : finite;
  return __builtin_bit_cast(float, bits | sign);
}

inline float widen(Float8E5m2 value) {
  return widen(Half{static_cast<uint16_t>(value.bits << 8)});
}

// `fraction` bits of the target's fraction, `bias` its exponent's bias, `largest` and `nan` its
// largest number and its NaN.
inline uint8_t narrow_to_8_bits(float value, uint32_t fraction, uint32_t bias, uint32_t largest,
                                uint32_t nan) {
  const uint32_t all = __builtin_bit_cast(uint32_t, value);
  const uint32_t sign = (all >> 24) & 0x80u;
  const uint32_t bits = all & 0x7fffffffu;
  const uint32_t shift = 23 - fraction;
  const uint32_t smallest_normal = (127 - bias + 1) << 23;
  // A number whose last bit is worth the target's smallest subnormal: the adder rounds.
  const uint32_t magic = (127 - bias + 1 + shift) << 23;
  const float shifted = __builtin_bit_cast(float, bits) + __builtin_bit_cast(float, magic);
  const uint32_t subnormal = __builtin_bit_cast(uint32_t, shifted) - magic;
  const uint32_t half = (1u << (shift - 1)) - 1;
  const uint32_t normal = (bits - ((127 - bias) << 23) + half + ((bits >> shift) & 1u)) >> shift;
  const uint32_t rounded = bits < smallest_normal ? subnormal : normal;
  const uint32_t finite = bits >= 0x7f800000u || rounded > largest ? largest : rounded;
  return static_cast<uint8_t>((bits > 0x7f800000u ? nan : finite) | sign);
}

inline Float8E4m3 narrow(float value, Float8E4m3*) {
  return {narrow_to_8_bits(value, 3, 7, 0x7e, 0x7f)};
}

inline Float8E5m2 narrow(float value, Float8E5m2*) {
  return {narrow_to_8_bits(value, 2, 15, 0x7b, 0x7f)};
}

}  // namespace
}  // namespace sluice::perf
