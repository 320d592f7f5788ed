// SPDX-License-Identifier: Apache-2.0
// 16-bit floats to and from fp32 without branches, so that loops over them vectorise.
//
// Everything is static and built in: this file is compiled for several instruction sets, and a
// shared (inline) function of one must never serve another.
#pragma once

#include <cstdint>

namespace sluice::perf {
namespace {

struct Half {
  uint16_t bits;
};
struct Bfloat16 {
  uint16_t bits;
};

inline float widen(Bfloat16 value) {
  return __builtin_bit_cast(float, static_cast<uint32_t>(value.bits) << 16);
}

inline float widen(Half value) {
  const uint32_t sign = (value.bits & 0x8000u) << 16;
  const uint32_t magnitude = (value.bits & 0x7fffu) << 13;
  // Scaling by 2^112 moves the exponent and normalises subnormals in one go.
  const float scaled = __builtin_bit_cast(float, magnitude) * 0x1p112f;
  const uint32_t finite = __builtin_bit_cast(uint32_t, scaled);
  const uint32_t infinite = magnitude | 0x7f800000u;
  const uint32_t bits = magnitude >= 0x0f800000u ? infinite : finite;
  return __builtin_bit_cast(float, bits | sign);
}

inline Bfloat16 narrow(float value, Bfloat16*) {
  const uint32_t bits = __builtin_bit_cast(uint32_t, value);
  const uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
  const uint32_t quiet = (bits >> 16) | 0x40u;
  return {static_cast<uint16_t>((bits & 0x7fffffffu) > 0x7f800000u ? quiet : rounded)};
}

inline Half narrow(float value, Half*) {
  const uint32_t all = __builtin_bit_cast(uint32_t, value);
  const uint32_t sign = (all >> 16) & 0x8000u;
  const uint32_t bits = all & 0x7fffffffu;
  const uint32_t special = bits > 0x7f800000u ? 0x7e00u : 0x7c00u;
  // Adding one half lets the adder round a subnormal at the right place.
  const float shifted = __builtin_bit_cast(float, bits) + 0.5f;
  const uint32_t subnormal = __builtin_bit_cast(uint32_t, shifted) - 0x3f000000u;
  const uint32_t normal = (bits - 0x38000000u + 0xfffu + ((bits >> 13) & 1u)) >> 13;
  const uint32_t finite = bits < 0x38800000u ? subnormal : normal;
  return {static_cast<uint16_t>((bits >= 0x47800000u ? special : finite) | sign)};
}

}  // namespace
}  // namespace sluice::perf
