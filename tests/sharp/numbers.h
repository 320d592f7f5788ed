// SPDX-License-Identifier: Apache-2.0
// Element types as tests see them: an independent way from bits to numbers and back, and the
// reference for a reduction of one element. Slow and plain on purpose.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>
#include <vector>

#include "sharp/wire/types.h"

namespace sluice::sharp::testing {

// A 16-bit float with so many bits of exponent and mantissa.
template <int ExponentBits, int MantissaBits>
struct SmallFloat {
  uint16_t bits = 0;

  static constexpr int kBias = (1 << (ExponentBits - 1)) - 1;
  static constexpr int kSpecial = (1 << ExponentBits) - 1;

  double value() const {
    const int exponent = (bits >> MantissaBits) & kSpecial;
    const int mantissa = bits & ((1 << MantissaBits) - 1);
    const double sign = (bits & 0x8000) != 0 ? -1.0 : 1.0;
    if (exponent == kSpecial) {
      return mantissa != 0 ? std::nan("") : sign * std::numeric_limits<double>::infinity();
    }
    if (exponent == 0) return sign * std::ldexp(mantissa, 1 - kBias - MantissaBits);
    return sign * std::ldexp(mantissa + (1 << MantissaBits), exponent - kBias - MantissaBits);
  }

  // To nearest, ties to even, by arithmetic on the value.
  static SmallFloat round(double value) {
    SmallFloat result;
    const auto sign = static_cast<uint16_t>(std::signbit(value) ? 0x8000 : 0);
    if (std::isnan(value)) {
      result.bits = static_cast<uint16_t>(kSpecial << MantissaBits | 1 << (MantissaBits - 1));
      return result;
    }
    const double magnitude = std::fabs(value);
    const double unit_at_most = std::ldexp(1.0, 1 - kBias - MantissaBits);
    int exponent = 1 - kBias;
    if (magnitude > 0 && !std::isinf(magnitude))
      exponent = std::max(exponent, std::ilogb(magnitude));
    const double unit = std::max(unit_at_most, std::ldexp(1.0, exponent - MantissaBits));
    const double rounded =
        std::isinf(magnitude) ? magnitude : std::nearbyint(magnitude / unit) * unit;
    const double limit = std::ldexp(1.0, kBias + 1);
    uint32_t bits = 0;
    if (rounded >= limit) {
      bits = kSpecial << MantissaBits;
    } else if (rounded < std::ldexp(1.0, 1 - kBias)) {
      bits = static_cast<uint32_t>(rounded / unit_at_most);
    } else {
      const int power = std::ilogb(rounded);
      const double mantissa = std::ldexp(rounded, MantissaBits - power) - (1 << MantissaBits);
      bits = static_cast<uint32_t>(power + kBias) << MantissaBits | static_cast<uint32_t>(mantissa);
    }
    result.bits = static_cast<uint16_t>(sign | bits);
    return result;
  }
};

using Half = SmallFloat<5, 10>;
using Bfloat = SmallFloat<8, 7>;

// PTX's min and max.
template <typename T>
T reference_extreme(T a, T b, bool want_min) {
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(a)) return b;
    if (std::isnan(b)) return a;
    if (a == b) return std::signbit(a) == want_min ? a : b;
  }
  return (a < b) == want_min ? a : b;
}

// Left to right in T, integers modulo 2^n.
template <typename T>
T reference_combine(T a, T b, ReduceOperator reduce_operator) {
  if (reduce_operator == ReduceOperator::min) return reference_extreme(a, b, true);
  if (reduce_operator == ReduceOperator::max) return reference_extreme(a, b, false);
  const bool sum = reduce_operator == ReduceOperator::sum;
  if constexpr (std::is_integral_v<T>) {
    const auto wide_a = static_cast<uint64_t>(a);
    const auto wide_b = static_cast<uint64_t>(b);
    return static_cast<T>(sum ? wide_a + wide_b : wide_a * wide_b);
  } else {
    volatile T result = sum ? a + b : a * b;
    return result;
  }
}

template <typename T>
T reference(const std::vector<T>& inputs, ReduceOperator reduce_operator) {
  T result = inputs[0];
  for (size_t at = 1; at < inputs.size(); ++at) {
    result = reference_combine(result, inputs[at], reduce_operator);
  }
  return result;
}

template <int E, int M>
SmallFloat<E, M> reference(const std::vector<SmallFloat<E, M>>& inputs,
                           ReduceOperator reduce_operator) {
  float result = static_cast<float>(inputs[0].value());
  for (size_t at = 1; at < inputs.size(); ++at) {
    result = reference_combine(result, static_cast<float>(inputs[at].value()), reduce_operator);
  }
  return SmallFloat<E, M>::round(result);
}

template <typename T>
bool is_nan(T value) {
  if constexpr (std::is_floating_point_v<T>) return std::isnan(value);
  if constexpr (!std::is_arithmetic_v<T>) return std::isnan(value.value());
  return false;
}

// Calls function(T()) with the type of the elements.
template <typename Function>
void with_type(DataType type, Function function) {
  switch (type) {
    case DataType::int8:
      return function(int8_t());
    case DataType::uint8:
      return function(uint8_t());
    case DataType::int32:
      return function(int32_t());
    case DataType::uint32:
      return function(uint32_t());
    case DataType::int64:
      return function(int64_t());
    case DataType::uint64:
      return function(uint64_t());
    case DataType::float16:
      return function(Half());
    case DataType::float32:
      return function(float());
    case DataType::float64:
      return function(double());
    case DataType::bfloat16:
      return function(Bfloat());
    default:
      return;
  }
}

inline constexpr DataType kAllTypes[] = {
    DataType::int8,   DataType::uint8,   DataType::int32,   DataType::uint32,  DataType::int64,
    DataType::uint64, DataType::float16, DataType::float32, DataType::float64, DataType::bfloat16};
inline constexpr ReduceOperator kAllOperators[] = {ReduceOperator::sum, ReduceOperator::product,
                                                   ReduceOperator::max, ReduceOperator::min};

}  // namespace sluice::sharp::testing
