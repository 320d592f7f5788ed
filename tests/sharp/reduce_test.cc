// SPDX-License-Identifier: Apache-2.0
// The kernels, on every instruction set of this machine: each type, operator, number of inputs and
// tail against a plain reference, bit for bit.
#include "sharp/reduce/reduce.h"

#include <gtest/gtest.h>
#include <hwy/targets.h>

#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "tests/sharp/numbers.h"

namespace sluice::sharp {
namespace {

using testing::with_type;

std::vector<int64_t> instruction_sets() {
  std::vector<int64_t> sets;
  hwy::SetSupportedTargetsForTest(0);
  const int64_t all = hwy::SupportedTargets();
  for (int64_t bit = 1; bit > 0 && bit <= all; bit <<= 1) {
    if ((all & bit) != 0) sets.push_back(bit);
  }
  return sets;
}

// The best allowed is `best`; lower bits are better ones.
void allow_up_to(int64_t best) {
  hwy::SetSupportedTargetsForTest(0);
  const int64_t all = hwy::SupportedTargets();
  hwy::SetSupportedTargetsForTest(best == 0 ? 0 : all & ~(best - 1));
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

template <typename T>
T random_element(std::mt19937_64& random) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(random());
  } else if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double>) {
    // Mostly numbers of like size, now and then any bits at all: subnormals, infinities, NaNs,
    // zeros.
    switch (random() % 16) {
      case 0: {
        T value;
        const uint64_t bits = random();
        std::memcpy(&value, &bits, sizeof value);
        return value;
      }
      case 1:
        return random() % 2 != 0 ? T(0) : T(-0.0);
      case 2:
        return std::numeric_limits<T>::infinity() * (random() % 2 != 0 ? 1 : -1);
      case 3:
        return std::numeric_limits<T>::denorm_min() * static_cast<T>(random() % 1000);
      default:
        return static_cast<T>(std::ldexp(static_cast<double>(random() % 2000000) - 1e6, -18));
    }
  } else {
    if (random() % 8 == 0) return T{static_cast<uint16_t>(random())};
    return T::round(std::ldexp(static_cast<double>(random() % 2000) - 1000, -9));
  }
}

template <typename T>
std::string bits_of(T value) {
  uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof value);
  return std::to_string(bits);
}

template <typename T>
void check_elements(DataType type, ReduceOperator reduce_operator, int inputs, size_t elements,
                    size_t offset, bool in_place) {
  std::mt19937_64 random(elements * 31 + static_cast<size_t>(inputs));
  std::vector<std::vector<T>> data(static_cast<size_t>(inputs));
  for (auto& input : data) {
    input.resize(elements + offset + 1);
    for (T& element : input) element = random_element<T>(random);
  }
  const auto before = data;
  std::vector<T> apart(elements + offset + 1);
  const size_t last = data.size() - 1;
  std::vector<T>& out = in_place ? data[last] : apart;
  const T guard = out[offset + elements];
  std::vector<const void*> pointers;
  for (auto& input : data) pointers.push_back(input.data() + offset);
  reduce(type, reduce_operator, out.data() + offset, pointers.data(), inputs, elements);
  for (size_t at = 0; at < elements; ++at) {
    std::vector<T> column;
    for (const auto& input : before) column.push_back(input[at + offset]);
    const T expected = testing::reference(column, reduce_operator);
    const T got = out[at + offset];
    if (testing::is_nan(expected) && testing::is_nan(got)) continue;
    ASSERT_EQ(bits_of(got), bits_of(expected))
        << name_of(type) << " " << name_of(reduce_operator) << " of " << inputs << ", element "
        << at << " of " << elements;
  }
  EXPECT_EQ(bits_of(out[offset + elements]), bits_of(guard)) << "wrote beyond the end";
}

using Case = std::tuple<DataType, ReduceOperator>;

class Kernels : public ::testing::TestWithParam<Case> {
 protected:
  ~Kernels() override { allow_up_to(0); }
};

TEST_P(Kernels, MatchTheReferenceOnEveryInstructionSet) {
  const auto [type, reduce_operator] = GetParam();
  for (const int64_t set : instruction_sets()) {
    allow_up_to(set);
    SCOPED_TRACE(hwy::TargetName(set));
    with_type(type, [&, t = type, o = reduce_operator](auto element) {
      using T = decltype(element);
      for (const int inputs : {1, 2, 3, 5, 8, 16, 17}) {
        for (const size_t elements : {0, 1, 2, 3, 7, 15, 31, 63, 64, 65, 129, 513, 1030}) {
          check_elements<T>(t, o, inputs, elements, elements % 3, inputs % 2 == 0);
        }
      }
    });
    if (HasFatalFailure()) return;
  }
}

// Half precision has few values: all of them, alone and with a partner.
TEST(HalfPrecision, EveryValueSurvivesWideningAndRounding) {
  for (const int64_t set : instruction_sets()) {
    allow_up_to(set);
    SCOPED_TRACE(hwy::TargetName(set));
    for (const DataType type : {DataType::float16, DataType::bfloat16}) {
      std::vector<uint16_t> all(65536);
      for (size_t at = 0; at < all.size(); ++at) all[at] = static_cast<uint16_t>(at);
      const std::vector<uint16_t> zeros(65536, 0x8000);  // x + -0 is x
      std::vector<uint16_t> out(65536);
      const void* inputs[] = {all.data(), zeros.data()};
      reduce(type, ReduceOperator::sum, out.data(), inputs, 2, out.size());
      with_type(type, [&](auto element) {
        if constexpr (sizeof(element) == 2 && !std::is_arithmetic_v<decltype(element)>) {
          for (size_t at = 0; at < all.size(); ++at) {
            decltype(element) value{all[at]};
            const bool nan = std::isnan(value.value());
            value.bits = out[at];
            if (nan) {
              ASSERT_TRUE(std::isnan(value.value())) << at;
            } else {
              ASSERT_EQ(out[at], all[at]);
            }
          }
        }
      });
    }
  }
  allow_up_to(0);
}

TEST(HalfPrecision, RoundsOnceOverAllInputs) {
  // 2048 + 1 is 2048 in fp16, but 2048 + 1 + 1 is 2050 when it is rounded once.
  const uint16_t big = 0x6800;
  const uint16_t one = 0x3c00;
  uint16_t out = 0;
  const void* inputs[] = {&big, &one, &one};
  reduce(DataType::float16, ReduceOperator::sum, &out, inputs, 3, 1);
  EXPECT_EQ(out, 0x6801);
}

TEST(Extremes, NanYieldsToNumbersAndZerosHaveSigns) {
  const float nan = std::nanf("");
  const float left[] = {nan, 1.0f, 0.0f, -0.0f, nan};
  const float right[] = {2.0f, nan, -0.0f, 0.0f, nan};
  const void* inputs[] = {left, right};
  float out[5];
  reduce(DataType::float32, ReduceOperator::min, out, inputs, 2, 5);
  EXPECT_EQ(out[0], 2.0f);
  EXPECT_EQ(out[1], 1.0f);
  EXPECT_TRUE(std::signbit(out[2]) && std::signbit(out[3]));
  EXPECT_TRUE(std::isnan(out[4]));
  reduce(DataType::float32, ReduceOperator::max, out, inputs, 2, 5);
  EXPECT_TRUE(!std::signbit(out[2]) && !std::signbit(out[3]));
}

TEST(CanReduce, TellsTheTruth) {
  for (const DataType type : testing::kAllTypes) {
    for (const ReduceOperator reduce_operator : testing::kAllOperators) {
      EXPECT_TRUE(can_reduce(type, reduce_operator));
    }
  }
  EXPECT_TRUE(can_reduce(DataType::float8_e4m3, ReduceOperator::sum));
  EXPECT_TRUE(can_reduce(DataType::float8_e5m2, ReduceOperator::max));
  EXPECT_FALSE(can_reduce(static_cast<DataType>(kDataTypes), ReduceOperator::sum));
}

std::string case_name(const ::testing::TestParamInfo<Case>& info) {
  return std::string(name_of(std::get<0>(info.param))) + "_" + name_of(std::get<1>(info.param));
}

INSTANTIATE_TEST_SUITE_P(All, Kernels,
                         ::testing::Combine(::testing::ValuesIn(testing::kAllTypes),
                                            ::testing::ValuesIn(testing::kAllOperators)),
                         case_name);

}  // namespace
}  // namespace sluice::sharp
