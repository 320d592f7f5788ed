// SPDX-License-Identifier: Apache-2.0
#include "sharp/verify/fingerprint.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "sharp/verify/values.h"

namespace sluice::sharp {
namespace {

using verify::Bfloat;
using verify::E4m3;
using verify::E5m2;
using verify::Half;
using verify::key_of;
using verify::may_be_saturated;
using verify::resolution_of;
using verify::value_of;

constexpr uint64_t kSampled = 64;  // one chunk of so many

// Of a random walk, before a float sum is called wrong: by Hoeffding's inequality right ones are
// with a probability below 1e-21.
constexpr double kDeviations = 10;

// Steps of the weights: odd, with bits all over (the golden ratio and another of its kind).
constexpr uint64_t kStep = 0x9e3779b97f4a7c15;
constexpr uint64_t kOtherStep = 0xc2b2ae3d27d4eb4f;

// The finalizer of splitmix64: every bit of the input moves every bit of the output.
constexpr uint64_t mixed(uint64_t value) {
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9;
  value = (value ^ (value >> 27)) * 0x94d049bb133111eb;
  return value ^ (value >> 31);
}

template <typename T>
T load(const void* data, size_t index) {
  T value;
  std::memcpy(&value, static_cast<const std::byte*>(data) + index * sizeof(T), sizeof(T));
  return value;
}

bool is_float(DataType type) {
  return type >= DataType::float16 && type <= DataType::float8_e5m2;
}

double as_double(uint64_t bits) {
  return std::bit_cast<double>(bits);
}

// Calls `function(T{})` with the C++ type of the elements; integers as their unsigned type for sums
// and products, which wrap alike.
template <typename Function>
auto with_float(DataType type, bool partial, Function function) {
  if (partial && travels_as_partial(type)) return function(float{});
  switch (type) {
    case DataType::float16:
      return function(Half{});
    case DataType::bfloat16:
      return function(Bfloat{});
    case DataType::float8_e4m3:
      return function(E4m3{});
    case DataType::float8_e5m2:
      return function(E5m2{});
    case DataType::float64:
      return function(double{});
    default:
      return function(float{});
  }
}

template <typename Function>
auto with_integer(DataType type, Function function) {
  switch (type) {
    case DataType::int8:
      return function(int8_t{});
    case DataType::uint8:
      return function(uint8_t{});
    case DataType::int32:
      return function(int32_t{});
    case DataType::uint32:
      return function(uint32_t{});
    case DataType::int64:
      return function(int64_t{});
    default:
      return function(uint64_t{});
  }
}

// Odd weights: a single wrong bit changes the sum whatever the weight is.
template <typename Signed>
Claim integer_sum(uint64_t seed, const void* data, size_t elements) {
  using T = std::make_unsigned_t<Signed>;
  using Wide = std::conditional_t<sizeof(T) < sizeof(uint32_t), uint32_t, T>;
  Wide value = 0;
  Wide other = 0;
  auto weight = static_cast<Wide>(seed);
  auto other_weight = static_cast<Wide>(std::rotl(seed, 32));
  for (size_t at = 0; at < elements; ++at) {
    const auto element = static_cast<Wide>(load<T>(data, at));
    value += element * (weight | 1);
    other += element * (other_weight | 1);
    weight += static_cast<Wide>(kStep);
    other_weight += static_cast<Wide>(kOtherStep);
  }
  return {static_cast<T>(value), static_cast<T>(other)};
}

// A sum with random signs, and the Euclidean norm. Signs that know nothing of the data make the
// roundings add up as a random walk does, so the norm bounds them far better than the sum of
// magnitudes would; and norms of summands add up to at least the norm of the sums.
template <typename T>
Claim float_sum(uint64_t seed, const void* data, size_t elements) {
  constexpr size_t kLanes = 8;  // independent chains, which hide an addition's latency
  std::array<double, kLanes> values{};
  std::array<double, kLanes> squares{};
  bool saturated = false;
  uint64_t signs = 0;
  const auto add = [&](size_t at, size_t lane) {
    const T element = load<T>(data, at);
    const double number = value_of(element);
    saturated |= may_be_saturated(element);
    const uint64_t sign = (signs >> lane) << 63;
    values[lane] += std::bit_cast<double>(std::bit_cast<uint64_t>(number) ^ sign);
    squares[lane] += number * number;
  };
  const size_t whole = elements / kLanes * kLanes;
  for (size_t at = 0; at < whole; at += kLanes) {
    signs = at % 64 == 0 ? mixed(seed += kStep) : signs >> kLanes;
    for (size_t lane = 0; lane < kLanes; ++lane) add(at + lane, lane);
  }
  signs = mixed(~seed);
  for (size_t at = whole; at < elements; ++at) add(at, at - whole);
  double value = 0;
  double square = saturated ? std::numeric_limits<double>::infinity() : 0;
  for (size_t lane = 0; lane < kLanes; ++lane) {
    value += values[lane];
    square += squares[lane];
  }
  return {std::bit_cast<uint64_t>(value), std::bit_cast<uint64_t>(std::sqrt(square))};
}

// Where a half has no element the operator's neutral key stands.
template <typename Key>
Claim extremes(ReduceOperator reduce_operator, uint64_t seed, size_t elements, const Key& key) {
  const bool least = reduce_operator == ReduceOperator::min;
  const uint64_t neutral = least ? ~uint64_t{0} : 0;
  uint64_t first = neutral;
  uint64_t second = neutral;
  for (size_t at = 0; at < elements; ++at) {
    seed += kStep;
    const uint64_t candidate = key(at, neutral);
    const bool in_second = (seed >> 63) != 0;
    const uint64_t to_first = in_second ? neutral : candidate;
    const uint64_t to_second = in_second ? candidate : neutral;
    first = least ? std::min(first, to_first) : std::max(first, to_first);
    second = least ? std::min(second, to_second) : std::max(second, to_second);
  }
  return {first, second};
}

template <typename T>
uint64_t float_key(const void* data, size_t at, uint64_t of_nan) {
  const double number = value_of(load<T>(data, at));
  return std::isnan(number) ? of_nan : key_of(number);
}

template <typename T>
uint64_t integer_key(const void* data, size_t at) {
  using Wide = std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>;
  return key_of(static_cast<Wide>(load<T>(data, at)));
}

struct Places {
  size_t first;
  size_t second;
};

Places places(uint64_t seed, size_t elements) {
  return {mixed(seed) % elements, mixed(seed + kStep) % elements};
}

Claim of_floats(DataType type, ReduceOperator reduce_operator, bool partial, uint64_t seed,
                const void* data, size_t elements) {
  return with_float(type, partial, [&](auto kind) -> Claim {
    using T = decltype(kind);
    if (reduce_operator == ReduceOperator::sum) return float_sum<T>(seed, data, elements);
    if (reduce_operator == ReduceOperator::product) {
      const Places at = places(seed, elements);
      return {std::bit_cast<uint64_t>(value_of(load<T>(data, at.first))),
              std::bit_cast<uint64_t>(value_of(load<T>(data, at.second)))};
    }
    return extremes(reduce_operator, seed, elements,
                    [data](size_t at, uint64_t of_nan) { return float_key<T>(data, at, of_nan); });
  });
}

Claim of_integers(DataType type, ReduceOperator reduce_operator, uint64_t seed, const void* data,
                  size_t elements) {
  return with_integer(type, [&](auto kind) -> Claim {
    using T = decltype(kind);
    if (reduce_operator == ReduceOperator::sum) return integer_sum<T>(seed, data, elements);
    if (reduce_operator == ReduceOperator::product) {
      using Bits = std::make_unsigned_t<T>;
      const Places at = places(seed, elements);
      return {load<Bits>(data, at.first), load<Bits>(data, at.second)};
    }
    return extremes(reduce_operator, seed, elements,
                    [data](size_t at, uint64_t) { return integer_key<T>(data, at); });
  });
}

uint64_t wrapped(DataType type, uint64_t value) {
  const size_t bits = 8 * size_of(type);
  return bits == 64 ? value : value & ((uint64_t{1} << bits) - 1);
}

// Products: relative; outside the type's normal range rounding has no relative bound.
bool product_agrees(DataType type, double payload, double claimed, const Roundings& roundings) {
  const auto resolution = resolution_of(type);
  const double smallest_normal = resolution.smallest / resolution.unit;
  const double magnitude = std::fabs(claimed);
  if (!(magnitude >= smallest_normal && magnitude <= resolution.largest / 2)) return true;
  const double relative = 2 * (roundings.levels * resolution.unit + roundings.ranks * 0x1p-24);
  // The factors on the way may have left the range even if the product did not.
  if (!std::isfinite(payload) || payload == 0) return true;
  return std::fabs(payload - claimed) <= relative * magnitude;
}

bool sum_agrees(DataType type, const Claim& payload, const Claim& claimed, size_t elements,
                const Roundings& roundings) {
  const double value = as_double(payload.value);
  const double due = as_double(claimed.value);
  const double norm = as_double(claimed.bound);
  // Saturation shows in the norm of the narrow types that saturate.
  const bool saturated = size_of(type) == 1 && !std::isfinite(as_double(payload.bound));
  if (!std::isfinite(value) || !std::isfinite(due) || !std::isfinite(norm) || saturated) {
    return true;
  }
  const auto resolution = resolution_of(type);
  const double accumulation = type == DataType::float64 ? 0x1p-53 : 0x1p-24;
  const double of_checking = static_cast<double>(elements + static_cast<size_t>(roundings.ranks)) *
                             std::numeric_limits<double>::epsilon();
  const double relative =
      roundings.levels * resolution.unit + roundings.ranks * accumulation + of_checking;
  const double of_subnormals =
      static_cast<double>(elements) * (roundings.levels + 1) * resolution.smallest;
  return std::fabs(value - due) <= kDeviations * relative * norm + of_subnormals;
}

}  // namespace

uint64_t fingerprint_seed(const ChunkHeader& header) {
  uint64_t seed = 0;
  std::memcpy(&seed, header.group.data(), sizeof seed);
  seed = mixed(seed + header.operation);
  return mixed(seed + header.offset + static_cast<uint64_t>(header.traffic_class));
}

bool is_claimed(Verification verification, uint64_t seed) {
  return verification == Verification::all ||
         (verification == Verification::sample && seed % kSampled == 0);
}

Claim fingerprint(DataType type, ReduceOperator reduce_operator, bool partial, uint64_t seed,
                  const void* data, size_t elements) {
  if (elements == 0) return {};
  return is_float(type) ? of_floats(type, reduce_operator, partial, seed, data, elements)
                        : of_integers(type, reduce_operator, seed, data, elements);
}

Claim combine(DataType type, ReduceOperator reduce_operator, const Claim& a, const Claim& b) {
  switch (reduce_operator) {
    case ReduceOperator::min:
      return {std::min(a.value, b.value), std::min(a.bound, b.bound)};
    case ReduceOperator::max:
      return {std::max(a.value, b.value), std::max(a.bound, b.bound)};
    case ReduceOperator::sum:
      if (is_float(type)) {
        return {std::bit_cast<uint64_t>(as_double(a.value) + as_double(b.value)),
                std::bit_cast<uint64_t>(as_double(a.bound) + as_double(b.bound))};
      }
      return {wrapped(type, a.value + b.value), wrapped(type, a.bound + b.bound)};
    case ReduceOperator::product:
      break;
  }
  if (is_float(type)) {
    return {std::bit_cast<uint64_t>(as_double(a.value) * as_double(b.value)),
            std::bit_cast<uint64_t>(as_double(a.bound) * as_double(b.bound))};
  }
  return {wrapped(type, a.value * b.value), wrapped(type, a.bound * b.bound)};
}

bool agrees(DataType type, ReduceOperator reduce_operator, const Claim& payload,
            const Claim& claimed, size_t elements, const Roundings& roundings) {
  if (is_float(type) && reduce_operator == ReduceOperator::sum) {
    return sum_agrees(type, payload, claimed, elements, roundings);
  }
  if (is_float(type) && reduce_operator == ReduceOperator::product) {
    return product_agrees(type, as_double(payload.value), as_double(claimed.value), roundings) &&
           product_agrees(type, as_double(payload.bound), as_double(claimed.bound), roundings);
  }
  return payload == claimed;
}

bool dominated(DataType type, ReduceOperator reduce_operator, const void* result, const void* input,
               size_t elements) {
  if (reduce_operator != ReduceOperator::min && reduce_operator != ReduceOperator::max) return true;
  const bool least = reduce_operator == ReduceOperator::min;
  const auto no_worse = [&](const auto& key) {
    const uint64_t neutral = least ? ~uint64_t{0} : 0;
    for (size_t at = 0; at < elements; ++at) {
      const uint64_t own = key(input, at, neutral);
      const uint64_t reduced = key(result, at, neutral);
      if (least ? reduced > own : reduced < own) return false;
    }
    return true;
  };
  if (is_float(type)) {
    return with_float(type, false, [&](auto kind) {
      using T = decltype(kind);
      return no_worse([](const void* data, size_t at, uint64_t of_nan) {
        return float_key<T>(data, at, of_nan);
      });
    });
  }
  return with_integer(type, [&](auto kind) {
    using T = decltype(kind);
    return no_worse([](const void* data, size_t at, uint64_t) { return integer_key<T>(data, at); });
  });
}

}  // namespace sluice::sharp
