// SPDX-License-Identifier: Apache-2.0
#include "sharp/reduce/scalar.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>

namespace sluice::sharp {
namespace {

struct FormatBits {
  int exponent;
  int mantissa;
  bool has_infinity;
  bool saturates;
};

FormatBits format_of(DataType type) {
  switch (type) {
    case DataType::float16:
      return {5, 10, true, false};
    case DataType::bfloat16:
      return {8, 7, true, false};
    case DataType::float8_e5m2:
      return {5, 2, true, true};
    default:
      return {4, 3, false, true};
  }
}

float widen(const FormatBits& format, uint32_t bits) {
  const uint32_t mantissa = bits & ((1u << format.mantissa) - 1);
  const int exponent = static_cast<int>(bits >> format.mantissa) & ((1 << format.exponent) - 1);
  const int bias = (1 << (format.exponent - 1)) - 1;
  const bool negative = (bits >> (format.mantissa + format.exponent) & 1) != 0;
  float magnitude;
  if (exponent == (1 << format.exponent) - 1 && format.has_infinity) {
    magnitude = mantissa == 0 ? INFINITY : NAN;
  } else if (!format.has_infinity && exponent == (1 << format.exponent) - 1 &&
             mantissa == (1u << format.mantissa) - 1) {
    magnitude = NAN;
  } else if (exponent == 0) {
    magnitude = std::ldexp(static_cast<float>(mantissa), 1 - bias - format.mantissa);
  } else {
    magnitude = std::ldexp(static_cast<float>(mantissa + (1u << format.mantissa)),
                           exponent - bias - format.mantissa);
  }
  return negative ? -magnitude : magnitude;
}

uint32_t narrow(const FormatBits& format, float value) {
  const uint32_t all = (1u << (format.mantissa + format.exponent)) - 1;
  if (std::isnan(value)) return all;
  const uint32_t sign = std::signbit(value) ? all + 1 : 0;
  const uint32_t infinity = format.has_infinity ? all - ((1u << format.mantissa) - 1) : all;
  const int bias = (1 << (format.exponent - 1)) - 1;
  const double magnitude = std::fabs(static_cast<double>(value));
  uint32_t bits = infinity;
  if (!std::isinf(value)) {
    const int least = 1 - bias;
    const int exponent = magnitude == 0 ? least : std::max(least, std::ilogb(magnitude));
    const double units = std::nearbyint(std::ldexp(magnitude, format.mantissa - exponent));
    // A carry goes into the exponent by itself.
    const double whole = units + static_cast<double>(exponent - least) * (1 << format.mantissa);
    bits = whole >= infinity ? infinity : static_cast<uint32_t>(whole);
  }
  if (bits == infinity && format.saturates) --bits;
  return sign | bits;
}

float extreme(float a, float b, bool want_min) {
  if (std::isnan(a)) return b;
  if (std::isnan(b)) return a;
  if (a == b) return std::signbit(a) == want_min ? a : b;
  return (a < b) == want_min ? a : b;
}

float combine(ReduceOperator reduce_operator, float a, float b) {
  switch (reduce_operator) {
    case ReduceOperator::sum:
      return a + b;
    case ReduceOperator::product:
      return a * b;
    case ReduceOperator::min:
      return extreme(a, b, true);
    case ReduceOperator::max:
      return extreme(a, b, false);
  }
  return a;
}

}  // namespace

void reduce_scalar(DataType type, ReduceOperator reduce_operator, void* out, Form out_form,
                   std::span<const ReduceInput> inputs, size_t elements) {
  const FormatBits format = format_of(type);
  const auto load = [&](const ReduceInput& input, size_t at) {
    const size_t size = size_of(type, input.form);
    uint32_t bits = 0;
    std::memcpy(&bits, static_cast<const std::byte*>(input.data) + at * size, size);
    if (input.form == Form::element) return widen(format, bits);
    float value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
  };
  const size_t out_size = size_of(type, out_form);
  for (size_t at = 0; at < elements; ++at) {
    float value = load(inputs[0], at);
    for (const ReduceInput& input : inputs.subspan(1)) {
      value = combine(reduce_operator, value, load(input, at));
    }
    uint32_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    if (out_form == Form::element) bits = narrow(format, value);
    std::memcpy(static_cast<std::byte*>(out) + at * out_size, &bits, out_size);
  }
}

}  // namespace sluice::sharp
