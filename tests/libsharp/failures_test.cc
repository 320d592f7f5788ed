// SPDX-License-Identifier: Apache-2.0
// What goes wrong on one rank is known to all: refusals before the group stands, failures after.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>

#include "tests/libsharp/stand_in/behaviour.h"
#include "tests/libsharp/team.h"
#include "tests/plugin/process_state.h"
#include "tests/sharp/vectors.h"

namespace sluice::sharp::libsharp {
namespace {

using sharp::testing::Share;
using ::testing::HasSubstr;
using testing::Member;
using testing::stand_in_settings;
using ::testing::StartsWith;
using testing::Team;
using testing::wait_for;

void expect_refusal(Member& me, const Settings& settings) {
  const auto client = me.connect(settings);
  EXPECT_FALSE(client) << "rank " << me.rank << " got a client";
  if (client) return;
  EXPECT_EQ(client.error().kind, ErrorKind::refused);
  me.say(client.error().message);
}

class RefusalBy : public ::testing::TestWithParam<int> {
 protected:
  static constexpr int kRanks = 3;
  std::string rank() const {
    return format_text("in-network reduction refused: rank %d (", GetParam());
  }
  Team team{kRanks};
};

TEST_P(RefusalBy, TheJob) {
  team.set(GetParam(), stand_in::kMode, "refuse");
  team.run([](Member& me) { expect_refusal(me, stand_in_settings()); });
  EXPECT_THAT(team.common_sentence(), StartsWith(rank()));
  EXPECT_THAT(
      team.common_sentence(),
      HasSubstr("SHARP initialization failed: No session (-8): is the aggregation manager"));
}

TEST_P(RefusalBy, TheQuota) {
  team.set(GetParam(), stand_in::kMode, "no_quota");
  team.run([](Member& me) { expect_refusal(me, stand_in_settings()); });
  EXPECT_THAT(team.common_sentence(), StartsWith(rank()));
  EXPECT_THAT(team.common_sentence(),
              HasSubstr("SHARP group creation failed: Quota exceeded (-7)"));
}

TEST_P(RefusalBy, TheUser) {
  team.run([](Member& me) {
    Settings settings = stand_in_settings();
    settings.disabled = me.rank == GetParam();
    expect_refusal(me, settings);
  });
  EXPECT_THAT(team.common_sentence(), StartsWith(rank()));
  EXPECT_THAT(team.common_sentence(), HasSubstr("NCCL_SHARP_DISABLE is set"));
}

TEST_P(RefusalBy, AMissingLibrary) {
  team.run([](Member& me) {
    Settings settings = stand_in_settings();
    if (me.rank == GetParam()) settings.sharp_library = "libsharp_coll_of_nobody.so";
    expect_refusal(me, settings);
  });
  EXPECT_THAT(team.common_sentence(), StartsWith(rank()));
  EXPECT_THAT(team.common_sentence(), HasSubstr("it comes with NVIDIA's HPC-X"));
}

INSTANTIATE_TEST_SUITE_P(Rank, RefusalBy, ::testing::Values(0, 2),
                         ::testing::PrintToStringParamName());

TEST(Refusal, OfAGroupBelowTheThreshold) {
  Team team(2);
  team.run([](Member& me) {
    Settings settings = stand_in_settings();
    settings.group_size_threshold = 3;
    expect_refusal(me, settings);
  });
  EXPECT_THAT(team.common_sentence(),
              HasSubstr("2 ranks are fewer than NCCL_SHARP_GROUP_SIZE_THRESH, 3"));
}

TEST(Refusal, WithoutARankThatComes) {
  Team team(3);
  team.run([](Member& me) {
    Settings settings = stand_in_settings();
    settings.connect_timeout = std::chrono::seconds(2);
    const TimePoint start = Clock::now();
    if (me.rank != 1) expect_refusal(me, settings);
    EXPECT_LT(Clock::now() - start, std::chrono::seconds(15));
  });
  EXPECT_EQ(team.sentence(0), team.sentence(2));
  EXPECT_THAT(team.sentence(0),
              StartsWith("in-network reduction refused: rank 1 did not come within "));
}

TEST(Refusal, OfRanksThatUseAggregationNodes) {
  Team team(3);
  team.run([](Member& me) {
    if (me.rank != 2) return expect_refusal(me, stand_in_settings());
    ClientSettings settings;
    const auto client = Client::connect(*me.context, settings, me.handles, me.rank, *me.rendezvous);
    ASSERT_FALSE(client);
    me.say(client.error().message);
  });
  EXPECT_THAT(team.common_sentence(), HasSubstr("all ranks must use the same back end"));
}

TEST(Capability, IsWhatAllRanksHave) {
  Team team(3);
  team.set(1, stand_in::kMode, "old_switches");
  team.run([](Member& me) {
    const auto client = me.connect(stand_in_settings());
    ASSERT_TRUE(client) << client.error().message;
    const Capabilities& capabilities = (*client)->capabilities();
    EXPECT_FALSE(capabilities.supports(DataType::bfloat16, ReduceOperator::sum));
    EXPECT_TRUE(capabilities.supports(DataType::float16, ReduceOperator::sum));
    Share share(DataType::bfloat16, ReduceOperator::sum, 8, me.rank, 1);
    const auto refused = (*client)->allreduce(share.arguments());
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().message, HasSubstr("SHARP does not reduce bfloat16 by sum"));
    // A call that cannot be right leaves the group usable.
    Share good(DataType::float32, ReduceOperator::sum, 8, me.rank, 1);
    const auto operation = (*client)->allreduce(good.arguments());
    ASSERT_TRUE(operation);
    EXPECT_TRUE(wait_for(**client, **operation));
    me.meet();
  });
}

TEST(Memory, OfDevicesAndDmaBuffers) {
  Team team(2);
  team.run([](Member& me) {
    Settings settings = stand_in_settings();
    settings.trace = true;
    const auto client = me.connect(settings);
    ASSERT_TRUE(client) << client.error().message;
    std::vector<std::byte> bytes(64);
    const auto cuda = transport::MemoryType::cuda;
    const auto by_file = (*client)->register_dma_buffer(bytes.data(), 64, cuda, {0, 4096});
    EXPECT_TRUE(by_file) << by_file.error().message;
    const auto no_file = (*client)->register_dma_buffer(bytes.data(), 64, cuda, {-1, 0});
    ASSERT_FALSE(no_file);
    EXPECT_THAT(no_file.error().message, HasSubstr("SHARP registration of memory failed"));
    EXPECT_FALSE((*client)->register_memory(nullptr, 64, cuda));
    // Parts are copied by the CPU, which cannot reach device memory.
    const std::array parts = {Part{bytes.data(), 32, by_file->get()},
                              Part{bytes.data() + 32, 32, by_file->get()}};
    AllgatherArguments arguments;
    arguments.send = bytes.data();
    arguments.bytes_per_rank = 32;
    arguments.window_bytes = 64;
    arguments.receive = parts;
    const auto refused = (*client)->allgather(arguments);
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().message, HasSubstr("2 parts in device memory"));
    Share share(DataType::float32, ReduceOperator::max, 8, me.rank, 1);
    const auto operation = (*client)->allreduce(share.arguments());
    ASSERT_TRUE(operation);
    EXPECT_TRUE(wait_for(**client, **operation));
    EXPECT_EQ(me.log.contains("SHARP allreduce of 32 bytes"), me.rank == 0);
    const auto again = (*client)->test(**operation, nullptr);
    ASSERT_FALSE(again);
    EXPECT_THAT(again.error().message, HasSubstr("is done already"));
    me.meet();
  });
}

// Ends with the group's failure.
Error run_until_failure(LibsharpClient& client, int rank, int operations) {
  for (int at = 0; at < operations; ++at) {
    Share share(DataType::float32, ReduceOperator::sum, 1000, rank, static_cast<uint32_t>(at));
    const auto operation = client.allreduce(share.arguments());
    if (!operation) return operation.error();
    const Status status = wait_for(client, **operation, std::chrono::seconds(30));
    if (!status) return status.error();
  }
  return {ErrorKind::internal, 0, "nothing failed"};
}

TEST(Failure, InMidRunEndsTheGroupOnAllRanks) {
  Team team(4);
  team.set(2, stand_in::kFailAt, "6");
  team.run([](Member& me) {
    const auto client = me.connect(stand_in_settings());
    ASSERT_TRUE(client) << client.error().message;
    const TimePoint start = Clock::now();
    const Error error = run_until_failure(**client, me.rank, 20);
    EXPECT_LT(Clock::now() - start, std::chrono::seconds(20));
    me.say(error.message);
    // It stays failed.
    Share share(DataType::float32, ReduceOperator::sum, 1, me.rank, 0);
    const auto again = (*client)->allreduce(share.arguments());
    ASSERT_FALSE(again);
    EXPECT_EQ(again.error().message, error.message);
    me.meet();
  });
  for (int rank = 0; rank < 4; ++rank) {
    EXPECT_THAT(team.sentence(rank), HasSubstr("SHARP allreduce failed: Error (-1)"));
    if (rank == 2) continue;
    EXPECT_THAT(team.sentence(rank), StartsWith("rank 2 ("));
  }
}

class Death : public ::testing::TestWithParam<int> {};

TEST_P(Death, OfARankEndsTheGroup) {
  constexpr int kRanks = 3;
  Team team(kRanks);
  team.run([](Member& me) {
    const auto client = me.connect(stand_in_settings());
    ASSERT_TRUE(client) << client.error().message;
    me.meet();
    if (me.rank == GetParam()) ::_exit(0);
    me.say(run_until_failure(**client, me.rank, 20).message);
  });
  for (int rank = 0; rank < kRanks; ++rank) {
    if (rank == GetParam()) continue;
    EXPECT_THAT(team.sentence(rank), StartsWith(format_text("rank %d (", GetParam())));
    EXPECT_THAT(team.sentence(rank), HasSubstr(" was lost: "));
  }
}

INSTANTIATE_TEST_SUITE_P(Rank, Death, ::testing::Values(0, 1, 2),
                         ::testing::PrintToStringParamName());

TEST(Reload, LeavesNothing) {
  Team team(2);
  team.run([](Member& me) {
    const int threads = test::threads_at_rest();
    int descriptors = 0;
    for (int round = 0; round < 20; ++round) {
      auto client = me.connect(stand_in_settings());
      ASSERT_TRUE(client) << client.error().message;
      Share share(DataType::float32, ReduceOperator::sum, 500, me.rank, 3);
      auto region = (*client)->register_memory(share.send.data(), share.send.size(),
                                               transport::MemoryType::host);
      ASSERT_TRUE(region);
      auto arguments = share.arguments();
      arguments.send_region = region->get();
      const auto operation = (*client)->allreduce(arguments);
      ASSERT_TRUE(operation);
      ASSERT_TRUE(wait_for(**client, **operation));
      me.meet();
      // Memory may outlive the client.
      if (round % 2 == 0) region->reset();
      client->reset();
      region->reset();
      ASSERT_TRUE(test::wait_for_threads(threads));
      if (round == 0) descriptors = test::open_descriptors();
      ASSERT_EQ(test::open_descriptors(), descriptors) << "round " << round;
      me.meet();
    }
  });
}

}  // namespace
}  // namespace sluice::sharp::libsharp
