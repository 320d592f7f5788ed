// SPDX-License-Identifier: Apache-2.0
// The local kernels against references written another way: exact integers, long double, and 16-bit
// floats taken apart by ldexp.
#include "perf/driver/kernels.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "perf/driver/data_type.h"
#include "perf/driver/test_data.h"

namespace sluice::perf {
namespace {

double decode16(uint16_t bits, int exponent_bits, int fraction_bits) {
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const int exponent = (bits >> fraction_bits) & ((1 << exponent_bits) - 1);
  const int fraction = bits & ((1 << fraction_bits) - 1);
  const double sign = (bits & 0x8000) != 0 ? -1 : 1;
  if (exponent == (1 << exponent_bits) - 1) {
    return fraction != 0 ? std::numeric_limits<double>::quiet_NaN()
                         : sign * std::numeric_limits<double>::infinity();
  }
  if (exponent == 0) return sign * std::ldexp(fraction, 1 - bias - fraction_bits);
  return sign * std::ldexp(fraction + (1 << fraction_bits), exponent - bias - fraction_bits);
}

double decode(ncclDataType_t type, uint16_t bits) {
  return type == ncclFloat16 ? decode16(bits, 5, 10) : decode16(bits, 8, 7);
}

std::vector<const KernelSet*> kernel_sets() {
  std::vector<const KernelSet*> sets{&baseline_kernels()};
#ifdef SLUICE_PERF_AVX2
  if (__builtin_cpu_supports("avx2") != 0) sets.push_back(&avx2_kernels());
#endif
  return sets;
}

class HalfTypes : public testing::TestWithParam<ncclDataType_t> {};

// x + 0 for every bit pattern: widening and narrowing must give the same number back.
TEST_P(HalfTypes, EveryValueSurvivesAddingZero) {
  std::vector<uint16_t> values(65536);
  for (size_t index = 0; index < values.size(); ++index)
    values[index] = static_cast<uint16_t>(index);
  const std::vector<uint16_t> zeros(values.size(), 0);
  for (const KernelSet* set : kernel_sets()) {
    std::vector<uint16_t> out(values.size(), 0x1234);
    set->reduce[GetParam()][ncclSum](out.data(), values.data(), zeros.data(), values.size());
    for (size_t index = 0; index < values.size(); ++index) {
      const double expected = decode(GetParam(), values[index]);
      const double got = decode(GetParam(), out[index]);
      if (std::isnan(expected)) {
        ASSERT_TRUE(std::isnan(got)) << set->name << " " << index;
      } else {
        ASSERT_EQ(got, expected) << set->name << " " << index;
      }
    }
  }
}

// The nearest neighbour by exhaustive comparison with both neighbours, even on a tie.
TEST_P(HalfTypes, SumsRoundToNearestEven) {
  std::mt19937 random(7);
  std::vector<uint16_t> a(20000), b(a.size()), out(a.size());
  for (size_t index = 0; index < a.size(); ++index) {
    a[index] = static_cast<uint16_t>(random());
    // Close exponents make roundings and ties likely.
    b[index] = static_cast<uint16_t>(a[index] + random() % 4096);
  }
  for (const KernelSet* set : kernel_sets()) {
    set->reduce[GetParam()][ncclSum](out.data(), a.data(), b.data(), a.size());
    for (size_t index = 0; index < a.size(); ++index) {
      const double x = decode(GetParam(), a[index]);
      const double y = decode(GetParam(), b[index]);
      const auto exact = static_cast<double>(static_cast<float>(x) + static_cast<float>(y));
      const double got = decode(GetParam(), out[index]);
      if (!std::isfinite(exact) || !std::isfinite(got)) continue;
      const double error = std::abs(got - exact);
      for (const int step : {-1, 1}) {
        const double neighbour = decode(GetParam(), static_cast<uint16_t>(out[index] + step));
        if (!std::isfinite(neighbour)) continue;
        const double other = std::abs(neighbour - exact);
        ASSERT_LE(error, other) << set->name << " " << x << " + " << y;
        if (error == other && error != 0) {
          ASSERT_EQ(out[index] & 1, 0) << "a tie must go to even: " << x << " + " << y;
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, HalfTypes, testing::Values(ncclFloat16, ncclBfloat16));

template <typename T>
T reference(ncclRedOp_t op, T a, T b) {
  if (op == ncclMax) return std::max(a, b);
  if (op == ncclMin) return std::min(a, b);
  if constexpr (std::is_floating_point_v<T>) {
    const long double x = a, y = b;
    return static_cast<T>(op == ncclSum ? x + y : x * y);
  } else {
    T wrapped;  // what these built-ins leave when they say "overflow"
    static_cast<void>(op == ncclSum ? __builtin_add_overflow(a, b, &wrapped)
                                    : __builtin_mul_overflow(a, b, &wrapped));
    return wrapped;
  }
}

template <typename T>
void check_type(ncclDataType_t type) {
  std::mt19937_64 random(11);
  for (const size_t count : {size_t{1}, size_t{7}, size_t{64}, size_t{1001}}) {
    std::vector<T> a(count), b(count), out(count);
    for (size_t index = 0; index < count; ++index) {
      if constexpr (std::is_floating_point_v<T>) {
        a[index] = static_cast<T>(static_cast<int64_t>(random())) * T(1e-18);
        b[index] = static_cast<T>(static_cast<int64_t>(random())) * T(1e-18);
      } else {
        a[index] = static_cast<T>(random());
        b[index] = static_cast<T>(random());
      }
    }
    for (const KernelSet* set : kernel_sets()) {
      for (const OperatorInfo& op : all_operators()) {
        set->reduce[type][op.op](out.data(), a.data(), b.data(), count);
        for (size_t index = 0; index < count; ++index) {
          ASSERT_EQ(out[index], reference<T>(op.op, a[index], b[index]))
              << set->name << " " << info_of(type).name << " " << op.name << " " << index;
        }
      }
    }
  }
}

TEST(Kernels, MatchTheReferenceForEveryWiderType) {
  check_type<int8_t>(ncclInt8);
  check_type<uint8_t>(ncclUint8);
  check_type<int32_t>(ncclInt32);
  check_type<uint32_t>(ncclUint32);
  check_type<int64_t>(ncclInt64);
  check_type<uint64_t>(ncclUint64);
  check_type<float>(ncclFloat32);
  check_type<double>(ncclFloat64);
}

TEST(Kernels, NanLosesAgainstANumberInMinAndMax) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float a[2] = {nan, 3};
  const float b[2] = {3, nan};
  for (const ncclRedOp_t op : {ncclMax, ncclMin}) {
    float out[2] = {};
    reduce(ncclFloat32, op, out, a, b, 2);
    EXPECT_EQ(out[0], 3);
    EXPECT_EQ(out[1], 3);
  }
}

TEST(Kernels, HashSeesEverySingleBit) {
  std::vector<unsigned char> data(203);
  for (size_t index = 0; index < data.size(); ++index)
    data[index] = static_cast<unsigned char>(index);
  const uint64_t hash = hash_bytes(data.data(), data.size());
  for (size_t bit = 0; bit < data.size() * 8; ++bit) {
    data[bit / 8] ^= static_cast<unsigned char>(1 << bit % 8);
    EXPECT_NE(hash_bytes(data.data(), data.size()), hash) << bit;
    data[bit / 8] ^= static_cast<unsigned char>(1 << bit % 8);
  }
  EXPECT_NE(hash_bytes(data.data(), data.size() - 1), hash);
}

TEST(Kernels, SetsAgreeOnDataAndHash) {
  for (const KernelSet* set : kernel_sets()) {
    for (const TypeInfo& type : all_types()) {
      for (const OperatorInfo& op : all_operators()) {
        std::vector<unsigned char> a(777 * type.bytes), b(a.size());
        set->fill[type.type][op.op](a.data(), 5, 7, 123, 777);
        baseline_kernels().fill[type.type][op.op](b.data(), 5, 7, 123, 777);
        EXPECT_EQ(a, b) << set->name << type.name << op.name;
        EXPECT_EQ(set->hash(a.data(), a.size()), baseline_kernels().hash(a.data(), a.size()));
      }
    }
  }
}

}  // namespace
}  // namespace sluice::perf
