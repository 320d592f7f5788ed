// SPDX-License-Identifier: Apache-2.0
// An independent reference for reductions: elements are bits, arithmetic is on exact integers, and
// every rounding is written out. Knows all types, and what docs/numbers.md says about them.
#pragma once

#include <cmath>
#include <cstdint>
#include <utility>

#include "sharp/wire/types.h"

namespace sluice::sharp::testing {

__extension__ using Wide = unsigned __int128;

// A floating-point format: the widths of its fields, whether it has infinities (else one NaN only),
// and whether what is too large becomes the greatest finite number.
struct FloatFormat {
  int exponent_bits;
  int mantissa_bits;
  bool has_infinity = true;
  bool saturates = false;

  int bias() const { return (1 << (exponent_bits - 1)) - 1; }
  uint64_t magnitude_mask() const { return (uint64_t{1} << (exponent_bits + mantissa_bits)) - 1; }
  uint64_t mantissa_mask() const { return (uint64_t{1} << mantissa_bits) - 1; }
  // The first magnitude that is no finite number.
  uint64_t limit() const { return magnitude_mask() - (has_infinity ? mantissa_mask() : 0); }
};

inline constexpr FloatFormat kFloat32{8, 23};

inline bool is_float(DataType type) {
  return type == DataType::float32 || type == DataType::float64 || type == DataType::float16 ||
         type == DataType::bfloat16 || type == DataType::float8_e4m3 ||
         type == DataType::float8_e5m2;
}

inline FloatFormat format_of(DataType type) {
  switch (type) {
    case DataType::float64:
      return {11, 52};
    case DataType::float16:
      return {5, 10};
    case DataType::bfloat16:
      return {8, 7};
    case DataType::float8_e4m3:
      return {4, 3, false, true};
    case DataType::float8_e5m2:
      return {5, 2, true, true};
    default:
      return kFloat32;
  }
}

// What sums and products of a type are accumulated in.
inline FloatFormat accumulator_of(DataType type) {
  return type == DataType::float64 ? format_of(type) : kFloat32;
}

// mantissa * 2^exponent, unless it is none.
struct ExactNumber {
  enum class Kind { finite, infinity, nan } kind = Kind::finite;
  bool negative = false;
  Wide mantissa = 0;
  int exponent = 0;

  bool is_zero() const { return kind == Kind::finite && mantissa == 0; }
  long double value() const {
    const long double magnitude = kind == Kind::infinity
                                      ? HUGE_VALL
                                      : std::ldexp(static_cast<long double>(mantissa), exponent);
    return negative ? -magnitude : magnitude;
  }
};

inline ExactNumber decode(const FloatFormat& format, uint64_t bits) {
  ExactNumber number;
  const uint64_t magnitude = bits & format.magnitude_mask();
  number.negative = bits != magnitude;
  if (magnitude >= format.limit()) {
    const bool infinity = format.has_infinity && magnitude == format.limit();
    number.kind = infinity ? ExactNumber::Kind::infinity : ExactNumber::Kind::nan;
    return number;
  }
  const int field = static_cast<int>(magnitude >> format.mantissa_bits);
  number.mantissa = magnitude & format.mantissa_mask();
  if (field > 0) number.mantissa += Wide{1} << format.mantissa_bits;
  number.exponent = (field > 0 ? field : 1) - format.bias() - format.mantissa_bits;
  return number;
}

// The greatest power of two in it; it is not zero.
inline int log2_of(Wide value) {
  int log = -1;
  for (; value != 0; value >>= 1) ++log;
  return log;
}

// value / 2^shift to the nearest integer, ties to the even one.
inline Wide round_shifted(Wide value, int shift) {
  if (shift <= 0) return value << -shift;
  if (shift > 126) return 0;
  const Wide whole = value >> shift;
  const Wide rest = value - (whole << shift);
  const Wide half = Wide{1} << (shift - 1);
  return whole + (rest > half || (rest == half && whole % 2 == 1) ? 1 : 0);
}

inline uint64_t encode(const FloatFormat& format, const ExactNumber& number) {
  if (number.kind == ExactNumber::Kind::nan) return format.magnitude_mask();
  const uint64_t sign = number.negative ? format.magnitude_mask() + 1 : 0;
  if (number.is_zero()) return sign;
  Wide magnitude = format.limit();
  if (number.kind == ExactNumber::Kind::finite) {
    const int least = 1 - format.bias();
    const int log = log2_of(number.mantissa) + number.exponent;
    const int exponent = log > least ? log : least;
    const int unit = exponent - format.mantissa_bits;
    // The leading one of a normal number, and the carry of a rounding, go into the exponent.
    magnitude = (static_cast<Wide>(exponent - least) << format.mantissa_bits) +
                round_shifted(number.mantissa, unit - number.exponent);
    if (magnitude > format.limit()) magnitude = format.limit();
  }
  if (magnitude == format.limit() && format.saturates) --magnitude;
  return sign | static_cast<uint64_t>(magnitude);
}

inline ExactNumber sum_of(ExactNumber a, ExactNumber b) {
  using Kind = ExactNumber::Kind;
  if (a.kind == Kind::nan || b.kind == Kind::nan) return {Kind::nan};
  if (a.kind == Kind::infinity && b.kind == Kind::infinity && a.negative != b.negative) {
    return {Kind::nan};
  }
  if (a.kind == Kind::infinity) return a;
  if (b.kind == Kind::infinity) return b;
  if (a.is_zero() && b.is_zero()) return {Kind::finite, a.negative && b.negative};
  if (a.is_zero()) return b;
  if (b.is_zero()) return a;
  if (a.exponent < b.exponent) std::swap(a, b);
  // No rounding sees more than 70 bits below the greater one's last; so far away, only that there
  // is something matters.
  constexpr int kFar = 70;
  const bool far = a.exponent - b.exponent > kFar;
  const int shift = far ? kFar : a.exponent - b.exponent;
  a.mantissa <<= shift;
  a.exponent -= shift;
  if (far) b.mantissa = 1;
  if (a.negative == b.negative) {
    a.mantissa += b.mantissa;
  } else if (a.mantissa >= b.mantissa) {
    a.mantissa -= b.mantissa;
    if (a.mantissa == 0) a.negative = false;
  } else {
    a.mantissa = b.mantissa - a.mantissa;
    a.negative = b.negative;
  }
  return a;
}

inline ExactNumber product_of(const ExactNumber& a, const ExactNumber& b) {
  using Kind = ExactNumber::Kind;
  const bool negative = a.negative != b.negative;
  if (a.kind == Kind::nan || b.kind == Kind::nan) return {Kind::nan};
  if (a.kind == Kind::infinity || b.kind == Kind::infinity) {
    return {a.is_zero() || b.is_zero() ? Kind::nan : Kind::infinity, negative};
  }
  return {Kind::finite, negative, a.mantissa * b.mantissa, a.exponent + b.exponent};
}

inline ExactNumber extreme_of(const ExactNumber& a, const ExactNumber& b, bool want_min) {
  if (a.kind == ExactNumber::Kind::nan) return b;
  if (b.kind == ExactNumber::Kind::nan) return a;
  if (a.value() == b.value()) return a.negative == want_min ? a : b;
  return (a.value() < b.value()) == want_min ? a : b;
}

// One step of a reduction of floats: the bits of both and of the result are of format_of(type)'s
// accumulator.
inline uint64_t combine_floats(DataType type, ReduceOperator reduce_operator, uint64_t a,
                               uint64_t b) {
  const FloatFormat format = accumulator_of(type);
  const ExactNumber left = decode(format, a);
  const ExactNumber right = decode(format, b);
  switch (reduce_operator) {
    case ReduceOperator::sum:
      return encode(format, sum_of(left, right));
    case ReduceOperator::product:
      return encode(format, product_of(left, right));
    case ReduceOperator::min:
      return encode(format, extreme_of(left, right, true));
    case ReduceOperator::max:
      return encode(format, extreme_of(left, right, false));
  }
  return 0;
}

// The same of integers: bits above the type's are zero.
inline uint64_t combine_integers(DataType type, ReduceOperator reduce_operator, uint64_t a,
                                 uint64_t b) {
  const int unused = 64 - static_cast<int>(8 * size_of(type));
  const bool is_signed =
      type == DataType::int8 || type == DataType::int32 || type == DataType::int64;
  const auto less = [&](uint64_t x, uint64_t y) {
    if (!is_signed) return x < y;
    return static_cast<int64_t>(x << unused) < static_cast<int64_t>(y << unused);
  };
  switch (reduce_operator) {
    case ReduceOperator::sum:
      return (a + b) << unused >> unused;
    case ReduceOperator::product:
      return (a * b) << unused >> unused;
    case ReduceOperator::min:
      return less(a, b) ? a : b;
    case ReduceOperator::max:
      return less(a, b) ? b : a;
  }
  return 0;
}

// A reduction, one input after the other, all in bits: start with the first, then add() the rest.
class ExactReduction {
 public:
  ExactReduction(DataType type, ReduceOperator reduce_operator)
      : type_(type), reduce_operator_(reduce_operator) {}

  // `partial`: the bits are those of a fp32.
  void start(uint64_t bits, bool partial) { bits_ = widened(bits, partial); }
  void add(uint64_t bits, bool partial) {
    const uint64_t next = widened(bits, partial);
    bits_ = is_float(type_) ? combine_floats(type_, reduce_operator_, bits_, next)
                            : combine_integers(type_, reduce_operator_, bits_, next);
  }
  uint64_t result(bool partial) const {
    if (!is_float(type_)) return bits_;
    const FloatFormat format = partial ? accumulator_of(type_) : format_of(type_);
    return encode(format, decode(accumulator_of(type_), bits_));
  }

 private:
  uint64_t widened(uint64_t bits, bool partial) const {
    if (!is_float(type_) || partial) return bits;
    return encode(accumulator_of(type_), decode(format_of(type_), bits));
  }

  DataType type_;
  ReduceOperator reduce_operator_;
  uint64_t bits_ = 0;
};

}  // namespace sluice::sharp::testing
