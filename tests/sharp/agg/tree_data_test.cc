// SPDX-License-Identifier: Apache-2.0
// Trees of nodes, deterministic: data of every collective, rounding, order, damage.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "tests/sharp/agg/tree_rig.h"
#include "tests/sharp/vectors.h"

namespace sluice::sharp {
namespace {

using testing::Bytes;
using testing::Call;
using testing::PeerOperation;
using testing::random_input;
using testing::TreeOptions;
using testing::TreeRig;

std::vector<Bytes> inputs_for(const Call& call, int ranks, uint32_t seed) {
  std::vector<Bytes> inputs;
  for (int rank = 0; rank < ranks; ++rank) {
    inputs.push_back(random_input(call, seed * 100 + static_cast<uint32_t>(rank)));
  }
  return inputs;
}

TreeOptions tree_of(const Tree& tree, Precision precision = Precision::compact) {
  TreeOptions options;
  options.tree = tree;
  options.precision = precision;
  return options;
}

// What a rank must hold afterwards: the result, or what was there before (zeros).
void expect_result(const TreeRig& rig, const Call& call, const std::vector<Bytes>& inputs,
                   const std::vector<PeerOperation*>& posted) {
  const Bytes expected = rig.expected(call, inputs);
  for (uint16_t rank = 0; rank < posted.size(); ++rank) {
    const bool gets = call.collective == Collective::allreduce ||
                      call.collective == Collective::gather ||
                      (call.collective == Collective::scatter && rank == call.focus);
    ASSERT_EQ(posted[rank]->payloads, gets ? posted[rank]->chunks : 0) << rank;
    ASSERT_EQ(posted[rank]->output, gets ? expected : Bytes(call.bytes())) << "rank " << rank;
  }
}

struct Shape {
  const char* name;
  Tree tree;
};

std::vector<Shape> shapes() {
  return {{"one_rank", testing::flat(1)},
          {"flat", testing::flat(5)},
          {"root_and_2_leaves", testing::two_levels(2, 5)},
          {"root_2_inner_4_leaves", testing::three_levels(2, 4, 9)},
          {"chain", testing::chain(3, 3)},
          {"chain_to_one_rank", testing::chain(4, 1)},
          {"single_children", testing::three_levels(1, 1, 2)},
          {"uneven", testing::uneven(7)},
          {"single_children_below_a_root_of_two", testing::three_levels(2, 2, 6)}};
}

class Trees : public ::testing::TestWithParam<std::tuple<size_t, Precision>> {
 protected:
  Shape shape() const { return shapes()[std::get<0>(GetParam())]; }
  TreeOptions options() const { return tree_of(shape().tree, std::get<1>(GetParam())); }
};

TEST_P(Trees, EveryTypeAndOperator) {
  TreeRig rig(options());
  ASSERT_TRUE(rig.settle());
  uint32_t seed = 0;
  for (const DataType type : testing::kAllTypes) {
    for (const ReduceOperator reduce_operator : testing::kAllOperators) {
      for (const size_t elements : {1, 7, 300}) {
        Call call;
        call.type = type;
        call.reduce_operator = reduce_operator;
        call.elements = elements;
        if (elements == 1) call.traffic_class = TrafficClass::latency;
        const auto inputs = inputs_for(call, rig.size(), ++seed);
        const auto posted = rig.post(call, inputs);
        ASSERT_TRUE(rig.finish()) << rig.log.all();
        expect_result(rig, call, inputs, posted);
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST_P(Trees, EveryCollectiveAndFocusMixedInFlight) {
  TreeOptions wanted = options();
  wanted.delivery = 0.4;
  TreeRig rig(wanted);
  ASSERT_TRUE(rig.settle());
  struct Flying {
    Call call;
    std::vector<Bytes> inputs;
    std::vector<PeerOperation*> posted;
  };
  std::vector<Flying> flying;
  uint32_t seed = 0;
  for (uint16_t focus = 0; focus < rig.size(); ++focus) {
    for (const Collective collective :
         {Collective::gather, Collective::allreduce, Collective::scatter, Collective::none}) {
      for (const size_t elements : {3, 500}) {
        Flying one;
        one.call = {collective,
                    DataType::bfloat16,
                    ReduceOperator::sum,
                    elements,
                    focus,
                    elements == 3 ? TrafficClass::latency : TrafficClass::streaming};
        one.inputs = inputs_for(one.call, rig.size(), ++seed);
        one.posted = rig.post(one.call, one.inputs);
        flying.push_back(std::move(one));
      }
    }
  }
  ASSERT_TRUE(rig.finish()) << rig.log.all();
  for (const Flying& one : flying) {
    expect_result(rig, one.call, one.inputs, one.posted);
    if (HasFatalFailure()) return;
  }
}

// Ranks that have the result already take the record alone, all of them or some.
TEST_P(Trees, RanksMayForgoThePayload) {
  TreeRig rig(options());
  ASSERT_TRUE(rig.settle());
  for (const bool all : {false, true}) {
    const auto focus = static_cast<uint16_t>(rig.size() - 1);
    const Call call = {Collective::gather,     DataType::int32, ReduceOperator::sum, 400, focus,
                       TrafficClass::streaming};
    const auto inputs = inputs_for(call, rig.size(), 5);
    std::vector<PeerOperation*> posted;
    for (uint16_t rank = 0; rank < rig.size(); ++rank) {
      posted.push_back(&rig.ranks[rank]->post(call, inputs[rank], all || rank == focus));
    }
    ASSERT_TRUE(rig.finish()) << rig.log.all();
    for (uint16_t rank = 0; rank < rig.size(); ++rank) {
      const bool gets = !all && rank != focus;
      EXPECT_EQ(posted[rank]->payloads, gets ? posted[rank]->chunks : 0);
      EXPECT_EQ(posted[rank]->output, gets ? inputs[focus] : Bytes(call.bytes()));
    }
  }
}

std::string shape_name(const ::testing::TestParamInfo<std::tuple<size_t, Precision>>& info) {
  return std::string(shapes()[std::get<0>(info.param)].name) +
         (std::get<1>(info.param) == Precision::exact ? "_exact" : "_compact");
}

INSTANTIATE_TEST_SUITE_P(All, Trees,
                         ::testing::Combine(::testing::Range<size_t>(0, 9),
                                            ::testing::Values(Precision::compact,
                                                              Precision::exact)),
                         shape_name);

TEST(WideTrees, SixtyFourChildren) {
  for (const Tree& tree : {testing::flat(64), testing::two_levels(64, 64)}) {
    TreeRig rig(tree_of(tree, Precision::exact));
    ASSERT_TRUE(rig.settle()) << rig.log.all();
    Call call;
    call.type = DataType::bfloat16;
    call.elements = 700;
    const auto inputs = inputs_for(call, 64, 3);
    const auto posted = rig.post(call, inputs);
    ASSERT_TRUE(rig.finish()) << rig.log.all();
    expect_result(rig, call, inputs, posted);
  }
}

// 256 ranks: 16 leaves of 16.
TEST(WideTrees, MoreRanksThanANodeHasChildren) {
  TreeRig rig(tree_of(testing::two_levels(16, 256)));
  ASSERT_TRUE(rig.settle()) << rig.log.all();
  Call call;
  call.elements = 100;
  const auto inputs = inputs_for(call, 256, 3);
  const auto posted = rig.post(call, inputs);
  ASSERT_TRUE(rig.finish()) << rig.log.all();
  expect_result(rig, call, inputs, posted);
}

// Exact is what its name says: one rounding over all ranks, however deep the tree is.
TEST(Precisions, ExactEqualsTheFlatTreeUpToTheBracketing) {
  Call call;
  call.type = DataType::float16;
  call.elements = 1;
  // 2048 + 1 is 2048 in fp16: a leaf that rounds loses what the others bring.
  const uint16_t big = 0x6800;
  const uint16_t one = 0x3c00;
  for (const Precision precision : {Precision::compact, Precision::exact}) {
    TreeRig rig(tree_of(testing::two_levels(2, 4), precision));
    ASSERT_TRUE(rig.settle());
    std::vector<Bytes> inputs(4, Bytes(2));
    for (size_t rank = 0; rank < 4; ++rank) {
      std::memcpy(inputs[rank].data(), rank == 0 ? &big : &one, 2);
    }
    const auto posted = rig.post(call, inputs);
    ASSERT_TRUE(rig.finish());
    uint16_t result = 0;
    std::memcpy(&result, posted[2]->output.data(), 2);
    EXPECT_EQ(result, precision == Precision::exact ? 0x6802 : 0x6801);  // 2051 ties to 2052; 2050
  }
}

TEST(Reproducibility, AThousandOrdersOfArrivalGiveOneResult) {
  Call streaming;
  streaming.type = DataType::bfloat16;
  streaming.elements = 300;
  Call latency = streaming;
  latency.elements = 16;
  latency.traffic_class = TrafficClass::latency;
  std::set<std::pair<Bytes, Bytes>> results;
  for (uint32_t seed = 1; seed <= 1000; ++seed) {
    TreeOptions options = tree_of(testing::two_levels(2, 5));
    options.delivery = 0.5;
    options.seed = seed;
    TreeRig rig(options);
    ASSERT_TRUE(rig.settle());
    const auto large = rig.post(streaming, inputs_for(streaming, 5, 77));
    const auto small = rig.post(latency, inputs_for(latency, 5, 78));
    ASSERT_TRUE(rig.finish());
    for (size_t rank = 0; rank < 5; ++rank)
      results.emplace(large[rank]->output, small[rank]->output);
  }
  EXPECT_EQ(results.size(), 1u);
}

// One payload in so many arrives damaged, in all directions: asked for again, never used.
TEST(Damage, IsAskedForAgain) {
  for (const Precision precision : {Precision::compact, Precision::exact}) {
    TreeOptions options = tree_of(testing::three_levels(2, 4, 8), precision);
    int payloads = 0;
    int damaged = 0;
    options.delivery = 0.7;
    options.corrupt = [&](std::span<std::byte> payload) {
      if (payload.empty() || ++payloads % 7 != 0) return;
      payload[payload.size() / 2] ^= std::byte{16};
      ++damaged;
    };
    TreeRig rig(options);
    ASSERT_TRUE(rig.settle());
    for (uint16_t round = 0; round < 8; ++round) {
      for (const Collective collective :
           {Collective::allreduce, Collective::gather, Collective::scatter}) {
        for (const size_t elements : {9, 2000}) {
          const Call call = {collective,
                             DataType::float16,
                             ReduceOperator::sum,
                             elements,
                             round,
                             elements == 9 ? TrafficClass::latency : TrafficClass::streaming};
          const auto inputs = inputs_for(call, 8, round);
          const auto posted = rig.post(call, inputs);
          ASSERT_TRUE(rig.finish()) << rig.log.all();
          expect_result(rig, call, inputs, posted);
          if (HasFatalFailure()) return;
        }
      }
    }
    uint64_t noticed = 0;
    for (const auto& rank : rig.ranks) noticed += static_cast<uint64_t>(rank->damaged);
    for (const auto& [name, node] : rig.street.nodes()) {
      noticed += node->statistics().data.checksum_errors;
    }
    EXPECT_EQ(noticed, static_cast<uint64_t>(damaged));
    EXPECT_GT(damaged, 100);
  }
}

TEST(Damage, ThatNeverEndsEndsTheGroup) {
  TreeOptions options = tree_of(testing::two_levels(2, 4));
  TreeRig rig(options);
  ASSERT_TRUE(rig.settle());
  // Rank 3's memory rots: its checksums never fit.
  Call call;
  call.elements = 100;
  ChunkHeader header;
  for (int rank = 0; rank < 3; ++rank) {
    rig.ranks[static_cast<size_t>(rank)]->post(call, random_input(call, 1));
  }
  testing::WirePeer& sick = *rig.ranks[3];
  header.traffic_class = TrafficClass::latency;
  header.group = rig.shape.group;
  header.epoch = 1;
  header.child = sick.join.child();
  header.bytes = header.payload_bytes = 4;
  header.operation_bytes = 4;
  header.payload_crc = 12345;
  const std::byte payload[4] = {};
  for (int at = 0; at <= 16; ++at) {
    ASSERT_TRUE(sick.connection->send_message(encode(header), payload));
  }
  sick.deaf = true;
  EXPECT_FALSE(rig.finish(200));
  rig.settle(5);
  for (int rank = 0; rank < 3; ++rank) {
    const auto& error = rig.ranks[static_cast<size_t>(rank)]->group_error;
    ASSERT_TRUE(error) << rank;
    EXPECT_EQ(error->sentence, "rank 3 sent latency chunk 0 damaged 17 times");
    EXPECT_EQ(error->member, 3);
  }
}

}  // namespace
}  // namespace sluice::sharp
