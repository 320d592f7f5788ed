// SPDX-License-Identifier: Apache-2.0
// The numeric contract of docs/numbers.md, sentence by sentence, on every instruction set.
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <limits>
#include <vector>

#include "sharp/reduce/reduce.h"
#include "tests/sharp/exact_numbers.h"
#include "tests/sharp/instruction_sets.h"

namespace sluice::sharp {
namespace {

using testing::for_each_instruction_set;

constexpr ReduceOperator kSum = ReduceOperator::sum;
constexpr ReduceOperator kProduct = ReduceOperator::product;
constexpr ReduceOperator kMin = ReduceOperator::min;
constexpr ReduceOperator kMax = ReduceOperator::max;

// One element of each input, as bits.
uint64_t reduce_bits(DataType type, ReduceOperator reduce_operator,
                     const std::vector<uint64_t>& elements) {
  std::vector<ReduceInput> inputs;
  for (const uint64_t& element : elements) inputs.push_back({&element, Form::element});
  uint64_t out = 0;
  reduce(type, reduce_operator, &out, Form::element, inputs, 1);
  return out;
}

struct Row {
  const char* what;
  DataType type;
  ReduceOperator reduce_operator;
  std::vector<uint64_t> elements;
  uint64_t result;
};

std::vector<Row> contract() {
  using enum DataType;
  return {
      {"integers wrap", int8, kSum, {0x7f, 0x01}, 0x80},
      {"integers wrap", uint32, kSum, {0xffffffff, 2}, 1},
      {"integers wrap", int64, kProduct, {0x4000000000000001, 4}, 4},
      {"min of signed integers", int8, kMin, {0x01, 0xff}, 0xff},
      {"min of unsigned integers", uint8, kMin, {0x01, 0xff}, 0x01},
      {"fp16 is rounded once: 2048 + 1 + 1", float16, kSum, {0x6800, 0x3c00, 0x3c00}, 0x6801},
      {"bf16 is rounded once: 256 + 1 + 1", bfloat16, kSum, {0x4380, 0x3f80, 0x3f80}, 0x4381},
      {"ties go to even: 2048 + 1", float16, kSum, {0x6800, 0x3c00}, 0x6800},
      {"ties go to even: 2050 + 1", float16, kSum, {0x6801, 0x3c00}, 0x6802},
      {"too large for fp16 is Inf", float16, kSum, {0x7bff, 0x7bff}, 0x7c00},
      {"the fp32 sum in between may be larger", float16, kSum, {0x7bff, 0x7bff, 0xfbff}, 0x7bff},
      {"subnormals are kept", float16, kSum, {0x0001, 0x0001}, 0x0002},
      {"subnormals are kept", bfloat16, kSum, {0x0001, 0x0001}, 0x0002},
      {"subnormals are kept", float32, kSum, {0x00000001, 0x00000001}, 0x00000002},
      {"a product becomes subnormal", float32, kProduct, {0x00800000, 0x3f000000}, 0x00400000},
      {"-0 + -0 is -0", float32, kSum, {0x80000000, 0x80000000}, 0x80000000},
      {"-0 + 0 is 0", float32, kSum, {0x80000000, 0x00000000}, 0x00000000},
      {"Inf - Inf is NaN", float32, kSum, {0x7f800000, 0xff800000}, 0x7fffffff},
      {"Inf x 0 is NaN", float64, kProduct, {0x7ff0000000000000, 0}, 0x7fffffffffffffff},
      {"NaNs have the same bits", float32, kSum, {0xff812345, 0x3f800000}, 0x7fffffff},
      {"NaNs have the same bits", float16, kSum, {0xfc01, 0x3c00}, 0x7fff},
      {"NaNs have the same bits", bfloat16, kSum, {0xff81, 0x3f80}, 0x7fff},
      {"min prefers a number to NaN", float32, kMin, {0x7fc00000, 0x40000000}, 0x40000000},
      {"min prefers a number to NaN", float32, kMin, {0x40000000, 0xff800001}, 0x40000000},
      {"even Inf", float32, kMin, {0xffc00000, 0x7f800000}, 0x7f800000},
      {"max of NaNs is NaN",
       float64,
       kMax,
       {0xfff0000000000001, 0x7ff8000000000000},
       0x7fffffffffffffff},
      {"-0 is less than 0", float16, kMin, {0x0000, 0x8000}, 0x8000},
      {"-0 is less than 0", bfloat16, kMax, {0x8000, 0x0000}, 0x0000},
      {"e4m3 saturates: 448 + 448", float8_e4m3, kSum, {0x7e, 0x7e}, 0x7e},
      {"e4m3 saturates: 448 + 32 is above the last tie", float8_e4m3, kSum, {0x7e, 0x60}, 0x7e},
      {"e4m3 saturates: -448 x 448", float8_e4m3, kProduct, {0xfe, 0x7e}, 0xfe},
      {"e4m3: the sum in between does not", float8_e4m3, kSum, {0x7e, 0x7e, 0xfe, 0xfe}, 0x00},
      {"e4m3 has one NaN", float8_e4m3, kSum, {0xff, 0x38}, 0x7f},
      {"e4m3 rounds once: 16 + 1 + 1", float8_e4m3, kSum, {0x58, 0x38, 0x38}, 0x59},
      {"e4m3 ties go to even: 16 + 1", float8_e4m3, kSum, {0x58, 0x38}, 0x58},
      {"e4m3 subnormals: 2^-9 + 2^-9", float8_e4m3, kSum, {0x01, 0x01}, 0x02},
      {"e5m2 saturates: 57344 + 57344", float8_e5m2, kSum, {0x7b, 0x7b}, 0x7b},
      {"e5m2: Inf saturates", float8_e5m2, kSum, {0x7c, 0x3c}, 0x7b},
      {"e5m2: -Inf saturates", float8_e5m2, kMin, {0xfc, 0x3c}, 0xfb},
      {"e5m2: Inf - Inf is NaN", float8_e5m2, kSum, {0x7c, 0xfc}, 0x7f},
      {"e5m2: max prefers a number to NaN", float8_e5m2, kMax, {0x7d, 0xbc}, 0xbc},
      {"a single input is copied", float8_e5m2, kSum, {0xfe}, 0xfe},
  };
}

TEST(Numbers, AreAsTheContractSays) {
  for_each_instruction_set([] {
    for (const Row& row : contract()) {
      EXPECT_EQ(reduce_bits(row.type, row.reduce_operator, row.elements), row.result)
          << row.what << " (" << name_of(row.type) << ")";
    }
  });
}

// Every value of a small type, widened and rounded again.
TEST(Numbers, EveryValueSurvivesItsPartial) {
  for_each_instruction_set([] {
    for (const DataType type :
         {DataType::float16, DataType::bfloat16, DataType::float8_e4m3, DataType::float8_e5m2}) {
      const auto format = testing::format_of(type);
      const size_t size = size_of(type);
      const size_t count = size_t{1} << 8 * size;
      std::vector<std::byte> elements(count * size);
      std::vector<std::byte> rounded(count * size);
      std::vector<float> partials(count);
      for (uint64_t bits = 0; bits < count; ++bits) {
        std::memcpy(elements.data() + bits * size, &bits, size);
      }
      const ReduceInput whole[] = {{elements.data(), Form::element}};
      reduce(type, kSum, partials.data(), Form::partial, whole, count);
      const ReduceInput wide[] = {{partials.data(), Form::partial}};
      reduce(type, kSum, rounded.data(), Form::element, wide, count);
      for (uint64_t bits = 0; bits < count; ++bits) {
        const auto number = testing::decode(format, bits);
        uint32_t partial = 0;
        std::memcpy(&partial, &partials[bits], sizeof partial);
        ASSERT_EQ(partial, testing::encode(testing::kFloat32, number)) << name_of(type) << bits;
        uint64_t back = 0;
        std::memcpy(&back, rounded.data() + bits * size, size);
        ASSERT_EQ(back, testing::encode(format, number)) << name_of(type) << bits;
      }
    }
  });
}

// fp8 has few values: all pairs.
TEST(Numbers, EveryPairOfBytes) {
  std::vector<uint8_t> left;
  std::vector<uint8_t> right;
  for (int pair = 0; pair < 65536; ++pair) {
    left.push_back(static_cast<uint8_t>(pair));
    right.push_back(static_cast<uint8_t>(pair >> 8));
  }
  const ReduceInput inputs[] = {{left.data(), Form::element}, {right.data(), Form::element}};
  for (const DataType type : {DataType::float8_e4m3, DataType::float8_e5m2}) {
    for (const ReduceOperator reduce_operator : {kSum, kProduct, kMin, kMax}) {
      std::vector<uint8_t> expected;
      for (size_t at = 0; at < left.size(); ++at) {
        testing::ExactReduction exact(type, reduce_operator);
        exact.start(left[at], false);
        exact.add(right[at], false);
        expected.push_back(static_cast<uint8_t>(exact.result(false)));
      }
      for_each_instruction_set([&] {
        std::vector<uint8_t> out(left.size());
        reduce(type, reduce_operator, out.data(), Form::element, inputs, out.size());
        ASSERT_EQ(out, expected) << name_of(type) << " " << name_of(reduce_operator);
      });
    }
  }
}

TEST(Numbers, OnlyWhatHasANumberCanBeReduced) {
  for (int type = 0; type < 256; ++type) {
    for (int reduce_operator = 0; reduce_operator < 256; ++reduce_operator) {
      EXPECT_EQ(
          can_reduce(static_cast<DataType>(type), static_cast<ReduceOperator>(reduce_operator)),
          type < kDataTypes && reduce_operator < kReduceOperators);
    }
  }
}

TEST(Numbers, PartialsAreFp32OfSmallFloatsOnly) {
  for (int at = 0; at < kDataTypes; ++at) {
    const auto type = static_cast<DataType>(at);
    const bool small = testing::is_float(type) && size_of(type) < sizeof(float);
    EXPECT_EQ(size_of(type, Form::element), size_of(type));
    EXPECT_EQ(size_of(type, Form::partial), small ? sizeof(float) : size_of(type));
  }
}

}  // namespace
}  // namespace sluice::sharp
