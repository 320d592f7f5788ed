// SPDX-License-Identifier: Apache-2.0
// Right results are never called wrong, for every type, operator, fan-in and rounding; wrong ones
// are found as far as fingerprint.h promises.
#include "sharp/verify/fingerprint.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "sharp/reduce/reduce.h"

namespace sluice::sharp {
namespace {

constexpr size_t kElements = 1000;

// Small values of both signs, so that products stay in range; every type has some of them.
std::vector<std::byte> random_input(DataType type, std::mt19937_64& random) {
  std::vector<std::byte> data(kElements * size_of(type));
  for (size_t at = 0; at < kElements; ++at) {
    const uint64_t bits = random();
    std::byte* to = data.data() + at * size_of(type);
    const double number = (static_cast<double>(bits % 2001) - 1000.0) / 700.0;
    switch (type) {
      case DataType::float32: {
        const auto value = static_cast<float>(number);
        std::memcpy(to, &value, sizeof value);
        break;
      }
      case DataType::float64:
        std::memcpy(to, &number, sizeof number);
        break;
      case DataType::bfloat16: {
        const auto value = static_cast<float>(number);
        std::memcpy(to, reinterpret_cast<const std::byte*>(&value) + 2, 2);
        break;
      }
      case DataType::float16: {
        const auto half = static_cast<uint16_t>((bits & 0x83ff) | ((8 + bits / 65536 % 8) << 10));
        std::memcpy(to, &half, sizeof half);
        break;
      }
      case DataType::float8_e4m3:
        *to = static_cast<std::byte>((bits & 0x87) | ((2 + bits / 65536 % 6) << 3));
        break;
      case DataType::float8_e5m2:
        *to = static_cast<std::byte>((bits & 0x83) | ((8 + bits / 65536 % 8) << 2));
        break;
      default:
        std::memcpy(to, &bits, size_of(type));
    }
  }
  return data;
}

// Bits of a value far beyond what random_input() makes, and below what counts as saturated.
uint64_t large_value(DataType type) {
  switch (type) {
    case DataType::float8_e4m3:
      return 0x7d;
    case DataType::float8_e5m2:
      return 0x7a;
    case DataType::float16:
      return 0x7bff;
    case DataType::bfloat16:
      return 0x7a7f;
    case DataType::float32:
      return 0x7a7fffff;
    default:
      return 0x7a7fffffffffffff;
  }
}

struct Reduction {
  std::vector<std::byte> result;
  Claim claim;
  std::vector<std::vector<std::byte>> inputs;
};

// In groups of `fan_in`, level by level, as a tree does it.
Reduction reduce_tree(DataType type, ReduceOperator reduce_operator, uint64_t seed, int ranks,
                      int fan_in, std::mt19937_64& random) {
  Reduction out;
  std::vector<std::vector<std::byte>> level;
  for (int rank = 0; rank < ranks; ++rank) level.push_back(random_input(type, random));
  out.inputs = level;
  for (int rank = 0; rank < ranks; ++rank) {
    const Claim own = fingerprint(type, reduce_operator, false, seed,
                                  level[static_cast<size_t>(rank)].data(), kElements);
    out.claim = rank == 0 ? own : combine(type, reduce_operator, out.claim, own);
  }
  while (level.size() > 1) {
    std::vector<std::vector<std::byte>> above;
    for (size_t first = 0; first < level.size(); first += static_cast<size_t>(fan_in)) {
      std::vector<ReduceInput> inputs;
      for (size_t at = first; at < level.size() && at < first + static_cast<size_t>(fan_in); ++at) {
        inputs.push_back({level[at].data(), Form::element});
      }
      std::vector<std::byte> reduced(level[first].size());
      reduce(type, reduce_operator, reduced.data(), Form::element, inputs, kElements);
      above.push_back(std::move(reduced));
    }
    level = std::move(above);
  }
  out.result = level.front();
  return out;
}

class Fingerprint : public ::testing::TestWithParam<std::tuple<int, int>> {
 protected:
  DataType type() const { return static_cast<DataType>(std::get<0>(GetParam())); }
  ReduceOperator op() const { return static_cast<ReduceOperator>(std::get<1>(GetParam())); }
  bool is_float() const { return type() >= DataType::float16; }
  bool agrees_with(const Reduction& reduction, uint64_t seed, int ranks) {
    return agrees(type(), op(),
                  fingerprint(type(), op(), false, seed, reduction.result.data(), kElements),
                  reduction.claim, kElements, {ranks, ranks <= 4 ? 1 : 4});
  }
};

class FingerprintOfSums : public Fingerprint {};
class FingerprintOfExtremes : public Fingerprint {};

TEST_P(Fingerprint, RightResultsAgree) {
  std::mt19937_64 random(std::get<0>(GetParam()) * 4 + std::get<1>(GetParam()));
  for (int ranks = 1; ranks <= 16; ranks += 3) {
    for (const int fan_in : {2, 4, 16}) {
      if (fan_in < ranks && ranks <= 4) continue;  // agrees_with() counts one level then
      const uint64_t seed = random();
      const Reduction reduction = reduce_tree(type(), op(), seed, ranks, fan_in, random);
      EXPECT_TRUE(agrees_with(reduction, seed, ranks)) << ranks << " ranks, fan-in " << fan_in;
      for (const auto& input : reduction.inputs) {
        EXPECT_TRUE(dominated(type(), op(), reduction.result.data(), input.data(), kElements));
      }
    }
  }
}

// One bit of one element is always found in integers; in floats what is far off.
TEST_P(FingerprintOfSums, AWrongElementIsFound) {
  std::mt19937_64 random(7);
  const size_t bits = 8 * size_of(type());
  for (int round = 0; round < 200; ++round) {
    const uint64_t seed = random();
    Reduction reduction = reduce_tree(type(), op(), seed, 4, 4, random);
    const size_t bit = random() % bits;
    const size_t element = random() % kElements;
    std::byte* at = reduction.result.data() + element * size_of(type());
    if (is_float()) {
      const uint64_t large = large_value(type());
      std::memcpy(at, &large, size_of(type()));
    } else {
      at[bit / 8] ^= static_cast<std::byte>(1 << bit % 8);
    }
    EXPECT_FALSE(agrees_with(reduction, seed, 4)) << "bit " << bit << " of element " << element;
  }
}

TEST_P(FingerprintOfExtremes, OnTheWrongSideIsFound) {
  std::mt19937_64 random(11);
  const uint64_t seed = random();
  Reduction reduction = reduce_tree(type(), op(), seed, 4, 4, random);
  // Another reduction's opposite extreme is worse than some rank's own value somewhere.
  const Reduction other =
      reduce_tree(type(), op() == ReduceOperator::min ? ReduceOperator::max : ReduceOperator::min,
                  seed, 4, 4, random);
  bool found = false;
  for (const auto& input : reduction.inputs) {
    found = found || !dominated(type(), op(), other.result.data(), input.data(), kElements);
  }
  EXPECT_TRUE(found);
}

TEST_P(FingerprintOfExtremes, BeyondAllIsFound) {
  std::mt19937_64 random(13);
  const uint64_t seed = random();
  Reduction reduction = reduce_tree(type(), op(), seed, 4, 4, random);
  const size_t size = size_of(type());
  // The type's own extreme, which random_input() never makes of floats.
  std::vector<std::byte> extreme(size, std::byte{0});
  const bool least = op() == ReduceOperator::min;
  if (is_float()) {
    const uint64_t large = large_value(type());
    std::memcpy(extreme.data(), &large, size);
    if (least) extreme[size - 1] |= std::byte{0x80};
    std::memcpy(reduction.result.data() + 17 * size, extreme.data(), size);
    EXPECT_FALSE(agrees_with(reduction, seed, 4));
  }
}

std::string name_of_case(const ::testing::TestParamInfo<std::tuple<int, int>>& instance) {
  return std::string(name_of(static_cast<DataType>(std::get<0>(instance.param)))) + "_" +
         name_of(static_cast<ReduceOperator>(std::get<1>(instance.param)));
}

const auto kAllTypes = ::testing::Range(0, kDataTypes);

INSTANTIATE_TEST_SUITE_P(All, Fingerprint,
                         ::testing::Combine(kAllTypes, ::testing::Range(0, kReduceOperators)),
                         name_of_case);
INSTANTIATE_TEST_SUITE_P(All, FingerprintOfSums,
                         ::testing::Combine(kAllTypes, ::testing::Values(int(ReduceOperator::sum))),
                         name_of_case);
INSTANTIATE_TEST_SUITE_P(All, FingerprintOfExtremes,
                         ::testing::Combine(kAllTypes, ::testing::Values(int(ReduceOperator::min),
                                                                         int(ReduceOperator::max))),
                         name_of_case);

TEST(FingerprintSum, WhatCannotBeCheckedAgrees) {
  const float infinite[2] = {1, std::numeric_limits<float>::infinity()};
  const float other[2] = {1, 2};
  const auto of = [](const float* data) {
    return fingerprint(DataType::float32, ReduceOperator::sum, false, 5, data, 2);
  };
  EXPECT_TRUE(agrees(DataType::float32, ReduceOperator::sum, of(other), of(infinite), 2, {2, 1}));
  EXPECT_FALSE(agrees(DataType::float32, ReduceOperator::sum, of(other),
                      fingerprint(DataType::float32, ReduceOperator::sum, false, 5,
                                  std::vector<float>{1, 3}.data(), 2),
                      2, {2, 1}));
}

TEST(FingerprintSum, PartialsHaveTheFingerprintOfTheirValues) {
  const float partials[3] = {1.5f, -2.25f, 1e-3f};
  EXPECT_EQ(fingerprint(DataType::bfloat16, ReduceOperator::sum, true, 9, partials, 3),
            fingerprint(DataType::float32, ReduceOperator::sum, false, 9, partials, 3));
}

TEST(FingerprintSeed, SamplesOneInSixtyFour) {
  ChunkHeader header;
  header.group[3] = 77;
  int sampled = 0;
  for (uint64_t operation = 0; operation < 6400; ++operation) {
    header.operation = operation;
    const uint64_t seed = fingerprint_seed(header);
    sampled += is_claimed(Verification::sample, seed) ? 1 : 0;
    EXPECT_TRUE(is_claimed(Verification::all, seed));
    EXPECT_FALSE(is_claimed(Verification::off, seed));
  }
  EXPECT_GT(sampled, 50);
  EXPECT_LT(sampled, 160);
}

}  // namespace
}  // namespace sluice::sharp
