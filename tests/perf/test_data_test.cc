// SPDX-License-Identifier: Apache-2.0
#include "perf/driver/test_data.h"

#include <gtest/gtest.h>

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
    return count_wrong({type, op, seed}, of_ranks, kFirst, kCount, result.data());
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
    if (one.rounds() && bytes == 2 && one.ranks == 64) {
      EXPECT_GT(found, flipped / 4) << "only where sums are exact";
    } else {
      EXPECT_EQ(found, flipped);
    }
  });
}

TEST_P(EveryReduction, CheckFindsOneRankTooMany) {
  for_each([](const Case& one) {
    // The last rank rarely holds the largest of 64.
    const size_t least = one.op == ncclMax || one.op == ncclMin ? 0 : kCount / 4;
    EXPECT_GT(one.wrong(one.folded(), one.ranks - 1), least);
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
  EXPECT_EQ(error_bound(ncclInt32, ncclSum, 8), 0);
  EXPECT_EQ(error_bound(ncclFloat32, ncclMax, 8), 0);
  const double total = 8 * 0x1p-24;
  EXPECT_DOUBLE_EQ(error_bound(ncclFloat32, ncclSum, 8), total / (1 - total));
  EXPECT_LT(error_bound(ncclBfloat16, ncclSum, 64), 0.5);
}

}  // namespace
}  // namespace sluice::perf
