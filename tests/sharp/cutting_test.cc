// SPDX-License-Identifier: Apache-2.0
// Cutting: every byte of the window once, in order, no chunk over a block's border or the limit.
#include "sharp/client/cutting.h"

#include <gtest/gtest.h>

#include <random>

#include "sharp/wire/geometry.h"

namespace sluice::sharp {
namespace {

void check(const BlockWindow& window, uint32_t limit) {
  Cutting cutting(window, limit);
  uint64_t at = 0;
  uint64_t count = 0;
  while (!cutting.done()) {
    const Cut cut = cutting.take();
    ++count;
    ASSERT_EQ(cut.offset, at);
    ASSERT_GT(cut.bytes, 0u);
    ASSERT_LE(cut.bytes, limit);
    const uint64_t place = window.offset + cut.offset;
    ASSERT_EQ(place / window.block, cut.rank);
    ASSERT_EQ((place + cut.bytes - 1) / window.block, cut.rank);
    const WindowRange share = share_of(window, cut.rank);
    ASSERT_EQ(cut.piece.offset, share.offset);
    ASSERT_EQ(cut.piece.bytes, share.bytes);
    ASSERT_EQ((cut.offset - share.offset) % limit, 0u);
    at += cut.bytes;
  }
  ASSERT_EQ(at, window.bytes);
  ASSERT_EQ(count, cutting.chunks());
}

TEST(Cutting, OfWholeVectors) {
  for (const uint64_t bytes : {0, 1, 63, 64, 65, 1000, 4096}) check({bytes, 0, bytes}, 64);
}

TEST(Cutting, OfAnyWindow) {
  std::mt19937 random(5);
  for (int round = 0; round < 5000; ++round) {
    BlockWindow window;
    window.block = random() % 300 + 1;
    const uint64_t whole = window.block * (random() % 9 + 1);
    window.offset = random() % (whole + 1);
    window.bytes = random() % (whole - window.offset + 1);
    check(window, random() % 128 + 1);
  }
}

TEST(Cutting, BeyondFourGigabytes) {
  const uint64_t block = uint64_t{3} << 32;
  const Cutting cutting({block, block - 1, 2 * block}, 1 << 24);
  EXPECT_EQ(cutting.chunks(), 1 + (block >> 24) + (block >> 24));
  const WindowRange share = share_of({block, block - 1, 2 * block}, 1);
  EXPECT_EQ(share.offset, 1u);
  EXPECT_EQ(share.bytes, block);
}

TEST(Geometry, PartialSumsMustFitTheSlots) {
  GroupShape shape;
  shape.chunk_bytes = 65536;
  shape.latency_bytes = 4096;
  const auto limit = [&](DataType type, ReduceOperator op, Collective collective) {
    return chunk_limit(shape, type, op, collective);
  };
  using enum DataType;
  EXPECT_EQ(limit(bfloat16, ReduceOperator::sum, Collective::allreduce), 65536u);
  shape.precision = Precision::exact;
  EXPECT_EQ(limit(bfloat16, ReduceOperator::sum, Collective::allreduce), 32768u);
  EXPECT_EQ(limit(float16, ReduceOperator::product, Collective::scatter), 32768u);
  EXPECT_EQ(limit(float8_e4m3, ReduceOperator::sum, Collective::allreduce), 16384u);
  EXPECT_EQ(limit(bfloat16, ReduceOperator::max, Collective::allreduce), 65536u);
  EXPECT_EQ(limit(bfloat16, ReduceOperator::sum, Collective::gather), 65536u);
  EXPECT_EQ(limit(float32, ReduceOperator::sum, Collective::allreduce), 65536u);
  EXPECT_EQ(limit(uint8, ReduceOperator::sum, Collective::allreduce), 65536u);
  EXPECT_EQ(latency_limit(shape, float8_e5m2, ReduceOperator::sum, Collective::allreduce), 1024u);
}

}  // namespace
}  // namespace sluice::sharp
