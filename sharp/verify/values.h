// SPDX-License-Identifier: Apache-2.0
// The values behind the bits, one element at a time: doubles of narrow floats, and keys in whose
// order integers and floats of one type compare. Exact for every type but 64-bit integers as
// double.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "sharp/wire/types.h"

namespace sluice::sharp::verify {

struct Half {
  uint16_t bits;
};
struct Bfloat {
  uint16_t bits;
};
struct E4m3 {
  uint8_t bits;
};
struct E5m2 {
  uint8_t bits;
};

inline double value_of(float value) {
  return value;
}
inline double value_of(double value) {
  return value;
}
inline double value_of(Bfloat value) {
  return std::bit_cast<float>(static_cast<uint32_t>(value.bits) << 16);
}
// The fields moved into a float's places and the bias corrected; subnormals are counts of the
// smallest value. No arithmetic on subnormal floats, which processors do slowly.
inline double value_of(Half value) {
  const uint32_t magnitude = value.bits & 0x7fffu;
  float number = std::bit_cast<float>((magnitude << 13) + (112u << 23));
  if (magnitude < 0x0400) number = static_cast<float>(magnitude) * 0x1p-24f;
  if (magnitude >= 0x7c00) number = std::bit_cast<float>((magnitude << 13) | 0x7f800000u);
  return (value.bits & 0x8000) != 0 ? -number : number;
}
inline double value_of(E5m2 value) {
  return value_of(Half{static_cast<uint16_t>(value.bits << 8)});
}
// OCP FP8: no infinities, the largest code is NaN.
inline double value_of(E4m3 value) {
  const uint32_t magnitude = value.bits & 0x7fu;
  if (magnitude == 0x7f) return std::numeric_limits<double>::quiet_NaN();
  float number = std::bit_cast<float>((magnitude << 20) + (120u << 23));
  if (magnitude < 0x08) number = static_cast<float>(magnitude) * 0x1p-9f;
  return (value.bits & 0x80) != 0 ? -number : number;
}

// Where saturation may have cut a value off: nothing can be said about it.
inline bool may_be_saturated(E4m3 value) {
  return (value.bits & 0x7f) >= 0x7e;
}
inline bool may_be_saturated(E5m2 value) {
  return (value.bits & 0x7f) >= 0x7b;
}
template <typename T>
bool may_be_saturated(T) {
  return false;
}

// Half the distance between 1 and the next value, and the smallest positive value.
struct Resolution {
  double unit = 0;
  double smallest = 0;
  double largest = 0;
};

inline Resolution resolution_of(DataType type) {
  switch (type) {
    case DataType::float16:
      return {0x1p-11, 0x1p-24, 65504.0};
    case DataType::bfloat16:
      return {0x1p-8, 0x1p-133, 0x1.fep127};
    case DataType::float8_e4m3:
      return {0x1p-4, 0x1p-9, 448.0};
    case DataType::float8_e5m2:
      return {0x1p-3, 0x1p-16, 57344.0};
    case DataType::float64:
      return {0x1p-53, 0x1p-1074, std::numeric_limits<double>::max()};
    default:
      return {0x1p-24, 0x1p-149, std::numeric_limits<float>::max()};
  }
}

// Keys order as the values do, -0 before +0. NaN has none: ask first.
inline uint64_t key_of(double value) {
  const auto bits = std::bit_cast<uint64_t>(value);
  return (bits >> 63) != 0 ? ~bits : bits | (uint64_t{1} << 63);
}
inline uint64_t key_of(uint64_t value) {
  return value;
}
inline uint64_t key_of(int64_t value) {
  return static_cast<uint64_t>(value) ^ (uint64_t{1} << 63);
}

}  // namespace sluice::sharp::verify
