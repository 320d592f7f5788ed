// SPDX-License-Identifier: Apache-2.0
#include "perf/driver/test_data.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "perf/driver/data_type.h"

namespace sluice::perf {
namespace {

constexpr size_t kCount = 700;  // more than a block of the check
constexpr uint64_t kFirst = 50;

struct Case {
  ncclDataType_t type;
  ncclRedOp_t op;
  int ranks;

  std::string text() const {
    return std::string(info_of(type).name) + " " + info_of(op).name + " of " +
           std::to_string(ranks);
  }
  bool rounds() const { return info_of(type).unit_roundoff > 0 && op != ncclMax && op != ncclMin; }
  // Folds all ranks' inputs one after the other, rounding at every hop, as a ring does.
  std::vector<std::byte> folded() const {
    std::vector<std::byte> sum(kCount * info_of(type).bytes), next(sum.size());
    fill({type, op, 9}, 0, kFirst, kCount, sum.data());
    for (int rank = 1; rank < ranks; ++rank) {
      fill({type, op, 9}, rank, kFirst, kCount, next.data());
      reduce(type, op, sum.data(), sum.data(), next.data(), kCount);
    }
    return sum;
  }
  size_t wrong(const std::vector<std::byte>& result, int of_ranks, uint64_t seed = 9) const {
    return count_wrong({type, op, seed}, of_ranks, of_ranks - 1, kFirst, kCount, result.data());
  }
  // Where only some elements of a sum are exact, and the bound for the rest lets much pass.
  bool is_loose() const {
    return op == ncclSum && ((info_of(type).bytes == 1 && rounds()) ||
                             (info_of(type).bytes == 2 && rounds() && ranks == 64));
  }
};

class EveryReduction : public testing::TestWithParam<TypeInfo> {
 protected:
  static void for_each(const std::function<void(const Case&)>& body) {
    for (const OperatorInfo& op : all_operators()) {
      for (const int ranks : {2, 3, 8, 64}) {
        const Case one{GetParam().type, op.op, ranks};
        SCOPED_TRACE(one.text());
        body(one);
      }
    }
  }
};

TEST_P(EveryReduction, IsWithinBounds) {
  for_each([](const Case& one) { EXPECT_EQ(one.wrong(one.folded(), one.ranks), 0u); });
}

TEST_P(EveryReduction, CheckFindsAnElementThatIsWrong) {
  for_each([](const Case& one) {
    std::vector<std::byte> result = one.folded();
    const size_t bytes = info_of(one.type).bytes;
    size_t flipped = 0, found = 0;
    for (size_t index = 0; index < kCount; index += index % 512 < 510 ? 17 : 1) {
      const size_t last = index * bytes + bytes - 1;
      result[last] ^= std::byte{0x40};  // an exponent's or a high bit
      found += one.wrong(result, one.ranks);
      result[last] ^= std::byte{0x40};
      ++flipped;
    }
    if (one.is_loose()) {
      EXPECT_GT(found, flipped / 4) << "only where sums are exact";
    } else {
      EXPECT_EQ(found, flipped);
    }
  });
}

TEST_P(EveryReduction, CheckFindsOneRankTooMany) {
  for_each([](const Case& one) {
    const size_t found = one.wrong(one.folded(), one.ranks - 1);
    if (one.op == ncclMax || one.op == ncclMin) {
      // The last rank rarely holds the largest of 64, and never the only one of few values.
      const bool few_values = info_of(one.type).bytes == 1 && info_of(one.type).unit_roundoff > 0;
      if (few_values && one.ranks == 64) return;
      EXPECT_GT(found, 0u);
    } else {
      EXPECT_GT(found, one.is_loose() ? kCount / 32 : kCount / 4);
    }
  });
}

TEST_P(EveryReduction, CheckFindsAnotherIteration) {
  for_each([](const Case& one) { EXPECT_GT(one.wrong(one.folded(), one.ranks, 10), kCount / 8); });
}

INSTANTIATE_TEST_SUITE_P(All, EveryReduction,
                         testing::ValuesIn(all_types().begin(), all_types().end()),
                         [](const auto& tested) { return std::string(tested.param.name); });

TEST(TestData, PartsFitTogetherAcrossTheCountersEnd) {
  const uint64_t first = (uint64_t{1} << 32) - 100;
  std::vector<int32_t> whole(200), parts(200);
  fill({ncclInt32, ncclSum, 3}, 1, first, 200, whole.data());
  fill({ncclInt32, ncclSum, 3}, 1, first, 77, parts.data());
  fill({ncclInt32, ncclSum, 3}, 1, first + 77, 123, parts.data() + 77);
  EXPECT_EQ(whole, parts);
  std::vector<int32_t> start(100);
  fill({ncclInt32, ncclSum, 3}, 1, 0, 100, start.data());
  EXPECT_NE(std::vector<int32_t>(whole.begin() + 100, whole.end()), start)
      << "index is cut to 32 bits";
}

TEST(TestData, RanksDiffer) {
  std::set<int64_t> seen;
  for (int rank = 0; rank < 64; ++rank) {
    int64_t value = 0;
    fill({ncclInt64, ncclSum, 0}, rank, 17, 1, &value);
    seen.insert(value);
  }
  EXPECT_EQ(seen.size(), 64u);
}

TEST(TestData, BoundsAreWhatTheHeaderSays) {
  EXPECT_EQ(error_bound(ncclInt32, ncclSum, 8, 7), 0);
  EXPECT_EQ(error_bound(ncclFloat32, ncclMax, 8, 7), 0);
  const double of_float = std::pow(1 + 0x1p-24, 8) - 1;
  EXPECT_NEAR(error_bound(ncclFloat32, ncclSum, 8, 7), of_float, of_float * 1e-6);
  EXPECT_EQ(error_bound(ncclFloat32, ncclSum, 8, 7), error_bound(ncclFloat32, ncclSum, 8, 1))
      << "rounded at every step, whatever is between";
  const double once = (1 + 0x1p-8) * std::pow(1 + 0x1p-24, 64) - 1;
  EXPECT_NEAR(error_bound(ncclBfloat16, ncclSum, 64, 1), once, once * 1e-6);
  EXPECT_LT(error_bound(ncclBfloat16, ncclSum, 64, 63), 0.5);
  EXPECT_GT(error_bound(ncclFloat8e4m3, ncclSum, 2, 1), 0x1p-4);
}

TEST(TestData, InputsAreRecognised) {
  for (const TypeInfo& type : all_types()) {
    const Pattern pattern{type.type, ncclSum, 4};
    std::vector<std::byte> data(3000 * type.bytes);
    fill(pattern, 2, kFirst, 3000, data.data());
    EXPECT_EQ(count_different(pattern, 2, kFirst, 3000, data.data()), 0u) << type.name;
    EXPECT_GT(count_different(pattern, 1, kFirst, 3000, data.data()), 1000u) << type.name;
    data[2500 * type.bytes] ^= std::byte{1};
    data[7 * type.bytes] ^= std::byte{1};
    EXPECT_EQ(count_different(pattern, 2, kFirst, 3000, data.data()), 2u) << type.name;
  }
}

}  // namespace
}  // namespace sluice::perf
