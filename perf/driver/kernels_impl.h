// SPDX-License-Identifier: Apache-2.0
// The kernels' source, included by one .cc file per instruction set. Plain loops that the compiler
// vectorises; everything static, see float16.h.
#pragma once

#include "perf/driver/float16.h"
#include "perf/driver/float8.h"
#include "perf/driver/kernels.h"

namespace sluice::perf {
namespace {

enum class Op { sum, prod, max, min };  // NCCL's values in order

template <size_t Bytes>
struct UnsignedOf;
template <>
struct UnsignedOf<1> {
  using Type = uint8_t;
};
template <>
struct UnsignedOf<4> {
  using Type = uint32_t;
};
template <>
struct UnsignedOf<8> {
  using Type = uint64_t;
};

template <typename T>
struct Traits {
  static constexpr bool kFloating = false;
  using Wide = T;
  using Unsigned = typename UnsignedOf<sizeof(T)>::Type;  // in which integers wrap
};
template <>
struct Traits<float> {
  static constexpr bool kFloating = true;
  using Wide = float;
};
template <>
struct Traits<double> {
  static constexpr bool kFloating = true;
  using Wide = double;
};
template <>
struct Traits<Half> {
  static constexpr bool kFloating = true;
  using Wide = float;
};
template <>
struct Traits<Bfloat16> {
  static constexpr bool kFloating = true;
  using Wide = float;
};

template <>
struct Traits<Float8E4m3> {
  static constexpr bool kFloating = true;
  using Wide = float;
};
template <>
struct Traits<Float8E5m2> {
  static constexpr bool kFloating = true;
  using Wide = float;
};

template <typename T>
inline T widen(T value) {
  return value;
}
template <typename T>
inline T narrow(T value, T*) {
  return value;
}

template <Op op, typename T>
inline T apply(T a, T b) {
  if constexpr (op == Op::max || op == Op::min) {
    const T chosen = op == Op::max ? (a < b ? b : a) : (b < a ? b : a);
    if constexpr (Traits<T>::kFloating) return a != a ? b : chosen;  // NaN loses, as in NCCL
    return chosen;
  } else if constexpr (Traits<T>::kFloating) {
    return op == Op::sum ? a + b : a * b;
  } else {
    using Unsigned = typename Traits<T>::Unsigned;
    const Unsigned x = static_cast<Unsigned>(a);
    const Unsigned y = static_cast<Unsigned>(b);
    return static_cast<T>(op == Op::sum ? x + y : x * y);
  }
}

template <typename T, Op op>
void reduce(void* out, const void* a, const void* b, size_t count) {
  auto* to = static_cast<T*>(out);
  const auto* left = static_cast<const T*>(a);
  const auto* right = static_cast<const T*>(b);
  for (size_t i = 0; i < count; ++i) {
    to[i] = narrow(apply<op>(widen(left[i]), widen(right[i])), static_cast<T*>(nullptr));
  }
}

// ---- test data: a hash of the index, turned into a rank's value by the rank's odd multiplier ----

inline uint32_t hash_index(uint32_t index, uint32_t seed) {
  uint32_t hash = index * 0x9e3779b1u + seed;
  hash ^= hash >> 15;
  hash *= 0x85ebca6bu;
  return hash ^ (hash >> 13);
}

// Sums stay small, products of 64 stay normal numbers of every type: |1 + 1/8|^64 < 1900. Every
// second 16- or 8-bit float is so small that sums over 64 ranks need no rounding: there the check
// is exact, where the bound for many roundings would let much pass. Factors of 8 bits are powers
// of two, mostly one: their products need no rounding as long as they are numbers of the type.
template <typename T, Op op>
inline T value_of(uint32_t hash, uint32_t multiplier) {
  const uint32_t bits = hash * multiplier;
  const auto number = static_cast<int32_t>(bits);
  if constexpr (!Traits<T>::kFloating) {
    const uint32_t odd = op == Op::prod ? 1u : 0u;  // even factors would soon leave nothing but 0
    if constexpr (sizeof(T) == 8) {
      const uint32_t high = (hash ^ 0x5bd1e995u) * multiplier;
      return static_cast<T>(static_cast<uint64_t>(high) << 32 | bits | odd);
    } else {
      return static_cast<T>(bits >> (32 - 8 * sizeof(T)) | odd);
    }
  } else if constexpr (op == Op::prod && sizeof(T) == 1) {
    const uint32_t kind = bits >> 27;
    const float magnitude = kind == 0 ? 2.0F : kind == 1 ? 0.5F : 1.0F;
    return narrow((bits >> 8 & 1u) != 0 ? -magnitude : magnitude, static_cast<T*>(nullptr));
  } else if constexpr (op == Op::prod) {
    using Wide = typename Traits<T>::Wide;
    const Wide step = sizeof(T) == 2   ? Wide(0x1p-7)
                      : sizeof(T) == 4 ? Wide(0x1p-26)
                                       : Wide(0x1p-34);
    const int shift = sizeof(T) == 2 ? 27 : sizeof(T) == 4 ? 8 : 0;
    const Wide magnitude = 1 + static_cast<Wide>(number >> shift) * step;
    const Wide value = (bits >> 8 & 1u) != 0 ? -magnitude : magnitude;
    return narrow(value, static_cast<T*>(nullptr));
  } else if constexpr (sizeof(T) == 1) {  // exact in both 8-bit types
    const uint32_t sixteenths = __is_same(T, Float8E4m3) ? 3 : 2;
    const int32_t sparse = bits >> 28 < sixteenths ? (number >> 26 & 2) - 1 : 0;
    const int32_t quarters = (hash & 1u) != 0 ? sparse : number >> 28;
    return narrow(static_cast<float>(quarters) * 0x1p-2f, static_cast<T*>(nullptr));
  } else if constexpr (sizeof(T) == 2) {  // exact in both 16-bit types
    const int32_t sixty_fourths = (hash & 1u) != 0 ? number >> 29 : number >> 24;
    return narrow(static_cast<float>(sixty_fourths) * 0x1p-6f, static_cast<T*>(nullptr));
  } else if constexpr (sizeof(T) == 4) {
    return static_cast<float>(number >> 8) * 0x1p-23f;
  } else {
    return static_cast<double>(number) * 0x1p-31;
  }
}

// Sums of absolute values up to here are exact in any order, being few enough 64ths, or quarters,
// for the significand.
template <typename T, Op op>
constexpr double exact_up_to() {
  if (op != Op::sum || sizeof(T) > 2) return 0;
  if (sizeof(T) == 1) return __is_same(T, Float8E4m3) ? 16.0 / 4 : 8.0 / 4;
  return __is_same(T, Half) ? 2048.0 / 64 : 256.0 / 64;
}

// Products of powers of two are exact in any order while no part of them leaves the type's normal
// numbers: `largest` is the product of all factors above one, `smallest` of those below. What
// leaves them is not checked.
template <typename T>
constexpr bool stays_normal(double largest, double smallest) {
  return __is_same(T, Float8E4m3) ? largest <= 256 && smallest >= 0x1p-6
                                  : largest <= 32768 && smallest >= 0x1p-14;
}

template <typename T, Op op>
void fill(void* out, uint32_t seed, uint32_t multiplier, uint32_t first, size_t count) {
  auto* to = static_cast<T*>(out);
  for (size_t i = 0; i < count; ++i) {
    to[i] = value_of<T, op>(hash_index(first + static_cast<uint32_t>(i), seed), multiplier);
  }
}

// ---- check: blocks small enough for the first cache, ranks outside, elements inside ----

constexpr size_t kBlock = 512;

template <typename T, Op op>
size_t check_exact(const T* result, const uint32_t* hashes, const uint32_t* multipliers, int ranks,
                   size_t count) {
  using Wide = typename Traits<T>::Wide;
  Wide expected[kBlock];
  for (size_t i = 0; i < count; ++i) {
    expected[i] = widen(value_of<T, op>(hashes[i], multipliers[0]));
  }
  for (int rank = 1; rank < ranks; ++rank) {
    for (size_t i = 0; i < count; ++i) {
      const Wide value = widen(value_of<T, op>(hashes[i], multipliers[rank]));
      expected[i] = apply<op>(expected[i], value);
    }
  }
  size_t wrong = 0;
  for (size_t i = 0; i < count; ++i) wrong += widen(result[i]) == expected[i] ? 0 : 1;
  return wrong;
}

template <typename T, Op op>
size_t check_bounded(const T* result, const uint32_t* hashes, const uint32_t* multipliers,
                     int ranks, size_t count, double bound) {
  double expected[kBlock];
  double scale[kBlock];
  for (size_t i = 0; i < count; ++i) {
    expected[i] = static_cast<double>(widen(value_of<T, op>(hashes[i], multipliers[0])));
    scale[i] = expected[i] < 0 ? -expected[i] : expected[i];
  }
  for (int rank = 1; rank < ranks; ++rank) {
    for (size_t i = 0; i < count; ++i) {
      const auto value = static_cast<double>(widen(value_of<T, op>(hashes[i], multipliers[rank])));
      const double magnitude = value < 0 ? -value : value;
      expected[i] = apply<op>(expected[i], value);
      scale[i] = apply<op>(scale[i], magnitude);
    }
  }
  size_t wrong = 0;
  for (size_t i = 0; i < count; ++i) {
    const double difference = static_cast<double>(widen(result[i])) - expected[i];
    const double error = difference < 0 ? -difference : difference;
    const double limit = scale[i] <= exact_up_to<T, op>() ? 0 : bound * scale[i];
    wrong += error <= limit ? 0 : 1;  // NaN is wrong too
  }
  return wrong;
}

template <typename T>
size_t check_powers_of_two(const T* result, const uint32_t* hashes, const uint32_t* multipliers,
                           int ranks, size_t count) {
  size_t wrong = 0;
  for (size_t i = 0; i < count; ++i) {
    double expected = 1;
    double largest = 1;
    double smallest = 1;
    for (int rank = 0; rank < ranks; ++rank) {
      const double factor = widen(value_of<T, Op::prod>(hashes[i], multipliers[rank]));
      const double magnitude = factor < 0 ? -factor : factor;
      expected *= factor;
      largest *= magnitude > 1 ? magnitude : 1;
      smallest *= magnitude < 1 ? magnitude : 1;
    }
    wrong += widen(result[i]) == expected || !stays_normal<T>(largest, smallest) ? 0 : 1;
  }
  return wrong;
}

template <typename T, Op op>
size_t check(const void* result, uint32_t seed, const uint32_t* multipliers, int ranks,
             uint32_t first, size_t count, double bound) {
  const auto* elements = static_cast<const T*>(result);
  size_t wrong = 0;
  for (size_t start = 0; start < count; start += kBlock) {
    const size_t size = count - start < kBlock ? count - start : kBlock;
    uint32_t hashes[kBlock];
    for (size_t i = 0; i < size; ++i) {
      hashes[i] = hash_index(first + static_cast<uint32_t>(start + i), seed);
    }
    if constexpr (Traits<T>::kFloating && sizeof(T) == 1 && op == Op::prod) {
      wrong += check_powers_of_two<T>(elements + start, hashes, multipliers, ranks, size);
    } else if constexpr (Traits<T>::kFloating && (op == Op::sum || op == Op::prod)) {
      wrong += check_bounded<T, op>(elements + start, hashes, multipliers, ranks, size, bound);
    } else {
      wrong += check_exact<T, op>(elements + start, hashes, multipliers, ranks, size);
    }
  }
  return wrong;
}

// ---- hash: every step is a bijection of its lane, so that no single changed word goes unseen ----

uint64_t hash(const void* data, size_t bytes) {
  constexpr size_t kLanes = 16;
  const auto* from = static_cast<const unsigned char*>(data);
  uint32_t lanes[kLanes];
  for (size_t lane = 0; lane < kLanes; ++lane) lanes[lane] = static_cast<uint32_t>(lane + 1);
  for (size_t at = 0; at < bytes; at += sizeof lanes) {
    uint32_t words[kLanes] = {};
    const size_t left = bytes - at;
    __builtin_memcpy(words, from + at, left < sizeof words ? left : sizeof words);
    for (size_t lane = 0; lane < kLanes; ++lane) {
      const uint32_t mixed = (lanes[lane] ^ words[lane]) * 0x9e3779b1u;
      lanes[lane] = mixed ^ (mixed >> 15);
    }
  }
  uint64_t result = bytes;
  for (const uint32_t lane : lanes) {
    result = (result ^ lane) * 0x9e3779b97f4a7c15u;
    result ^= result >> 32;
  }
  return result;
}

template <typename T>
constexpr void set_type(KernelSet& set, ncclDataType_t type) {
  set.reduce[type][ncclSum] = reduce<T, Op::sum>;
  set.reduce[type][ncclProd] = reduce<T, Op::prod>;
  set.reduce[type][ncclMax] = reduce<T, Op::max>;
  set.reduce[type][ncclMin] = reduce<T, Op::min>;
  set.fill[type][ncclSum] = fill<T, Op::sum>;
  set.fill[type][ncclProd] = fill<T, Op::prod>;
  set.fill[type][ncclMax] = fill<T, Op::max>;
  set.fill[type][ncclMin] = fill<T, Op::min>;
  set.check[type][ncclSum] = check<T, Op::sum>;
  set.check[type][ncclProd] = check<T, Op::prod>;
  set.check[type][ncclMax] = check<T, Op::max>;
  set.check[type][ncclMin] = check<T, Op::min>;
}

constexpr KernelSet make_kernel_set(const char* name) {
  KernelSet set{};
  set.name = name;
  set_type<int8_t>(set, ncclInt8);
  set_type<uint8_t>(set, ncclUint8);
  set_type<int32_t>(set, ncclInt32);
  set_type<uint32_t>(set, ncclUint32);
  set_type<int64_t>(set, ncclInt64);
  set_type<uint64_t>(set, ncclUint64);
  set_type<Half>(set, ncclFloat16);
  set_type<float>(set, ncclFloat32);
  set_type<double>(set, ncclFloat64);
  set_type<Bfloat16>(set, ncclBfloat16);
  set_type<Float8E4m3>(set, ncclFloat8e4m3);
  set_type<Float8E5m2>(set, ncclFloat8e5m2);
  set.hash = hash;
  return set;
}

}  // namespace
}  // namespace sluice::perf
