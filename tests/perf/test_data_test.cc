// SPDX-License-Identifier: Apache-2.0
#include "perf/driver/test_data.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "perf/driver/data_type.h"

namespace sluice::perf {
namespace {

struct Case {
  ncclDataType_t type;
  ncclRedOp_t op;
  int ranks;
};

std::vector<Case> all_cases() {
  std::vector<Case> cases;
  for (const TypeInfo& type : all_types()) {
    for (const OperatorInfo& op : all_operators()) {
      for (const int ranks : {2, 3, 8, 64}) cases.push_back({type.type, op.op, ranks});
    }
  }
  return cases;
}

class EveryReduction : public testing::TestWithParam<Case> {
 protected:
  static constexpr size_t kCount = 700;

  // Folds all ranks' inputs one after the other, rounding at every hop, as a ring does.
  std::vector<std::byte> folded() const {
    const auto [type, op, ranks] = GetParam();
    std::vector<std::byte> sum(kCount * info_of(type).bytes), next(sum.size());
    fill({type, op, 9}, 0, 50, kCount, sum.data());
    for (int rank = 1; rank < ranks; ++rank) {
      fill({type, op, 9}, rank, 50, kCount, next.data());
      reduce(type, op, sum.data(), sum.data(), next.data(), kCount);
    }
    return sum;
  }
};

TEST_P(EveryReduction, IsWithinBounds) {
  const auto [type, op, ranks] = GetParam();
  EXPECT_EQ(count_wrong({type, op, 9}, ranks, 50, kCount, folded().data()), 0u);
}

TEST_P(EveryReduction, CheckFindsEveryElementThatIsWrong) {
  const auto [type, op, ranks] = GetParam();
  const bool rounds = info_of(type).unit_roundoff > 0 && op != ncclMax && op != ncclMin;
  std::vector<std::byte> result = folded();
  const size_t bytes = info_of(type).bytes;
  size_t found = 0;
  for (size_t index = 0; index < kCount; ++index) {
    result[index * bytes + bytes - 1] ^= std::byte{0x40};  // an exponent's or a high bit
    found += count_wrong({type, op, 9}, ranks, 50, kCount, result.data());
    result[index * bytes + bytes - 1] ^= std::byte{0x40};
  }
  if (rounds && bytes == 2 && ranks == 64) {
    EXPECT_GT(found, kCount / 3) << "only where sums are exact";
  } else {
    EXPECT_EQ(found, kCount);
  }
}

TEST_P(EveryReduction, CheckFindsOneRankTooMany) {
  const auto [type, op, ranks] = GetParam();
  const size_t wrong = count_wrong({type, op, 9}, ranks - 1, 50, kCount, folded().data());
  // The last rank rarely holds the largest of 64.
  EXPECT_GT(wrong, op == ncclMax || op == ncclMin ? 0 : kCount / 4);
}

TEST_P(EveryReduction, CheckFindsAnotherIteration) {
  const auto [type, op, ranks] = GetParam();
  EXPECT_GT(count_wrong({type, op, 10}, ranks, 50, kCount, folded().data()), kCount / 8);
}

INSTANTIATE_TEST_SUITE_P(All, EveryReduction, testing::ValuesIn(all_cases()),
                         [](const auto& tested) {
                           return std::string(info_of(tested.param.type).name) + "_" +
                                  info_of(tested.param.op).name + "_" +
                                  std::to_string(tested.param.ranks);
                         });

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
  EXPECT_EQ(error_bound(ncclInt32, ncclSum, 8), 0);
  EXPECT_EQ(error_bound(ncclFloat32, ncclMax, 8), 0);
  const double total = 8 * 0x1p-24;
  EXPECT_DOUBLE_EQ(error_bound(ncclFloat32, ncclSum, 8), total / (1 - total));
  EXPECT_LT(error_bound(ncclBfloat16, ncclSum, 64), 0.5);
}

}  // namespace
}  // namespace sluice::perf
