// SPDX-License-Identifier: Apache-2.0
// The bootstrap with threads as ranks, and what it makes of launchers' variables.
#include "perf/driver/bootstrap.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <thread>

#include "perf/driver/fault.h"
#include "perf/driver/rank_environment.h"

namespace sluice::perf {
namespace {

using testing::HasSubstr;

constexpr auto kTimeout = std::chrono::seconds(20);

// Runs `body` on every rank of a job of that size.
void with_ranks(int size, const std::function<void(Bootstrap&)>& body) {
  int port = 0;
  auto listener = listen_on({"127.0.0.1", "0"}, &port);
  ASSERT_TRUE(listener);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size; ++rank) {
    Bootstrap::Place place{rank, size, {"127.0.0.1", std::to_string(port)}, 99, {}};
    if (rank == 0) place.root_listener = std::move(*listener);
    threads.emplace_back([&body, place = std::move(place)]() mutable {
      auto bootstrap = Bootstrap::join(std::move(place), kTimeout);
      ASSERT_TRUE(bootstrap) << bootstrap.error().message;
      body(*bootstrap);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(Bootstrap, GathersInRankOrder) {
  with_ranks(5, [](Bootstrap& bootstrap) {
    for (int round = 0; round < 20; ++round) {
      auto all = bootstrap.allgather(bootstrap.rank() * 10 + round);
      ASSERT_TRUE(all);
      for (int rank = 0; rank < 5; ++rank)
        EXPECT_EQ((*all)[static_cast<size_t>(rank)], rank * 10 + round);
    }
  });
}

TEST(Bootstrap, AgreesOnTheFirstError) {
  with_ranks(4, [](Bootstrap& bootstrap) {
    EXPECT_TRUE(bootstrap.agree({}));
    const Status own =
        bootstrap.rank() >= 2
            ? Status(fail(ErrorKind::refused, "no from " + std::to_string(bootstrap.rank())))
            : Status();
    const Status verdict = bootstrap.agree(own);
    ASSERT_FALSE(verdict);
    EXPECT_EQ(verdict.error().message, "no from 2");
    EXPECT_EQ(verdict.error().kind, ErrorKind::refused);
  });
}

TEST(Bootstrap, ARankThatEndsIsNamedToAll) {
  std::atomic<int> heard{0};
  with_ranks(4, [&](Bootstrap& bootstrap) {
    if (bootstrap.rank() == 2) return;
    const Status status = bootstrap.barrier();
    ASSERT_FALSE(status);
    EXPECT_THAT(status.error().message, HasSubstr("rank 2"));
    ++heard;
  });
  EXPECT_EQ(heard, 3);
}

TEST(Bootstrap, LastWordsReachThoseWhoOnlyWatch) {
  with_ranks(3, [&](Bootstrap& bootstrap) {
    if (bootstrap.rank() == 1) {
      bootstrap.abort("rank 1 has had enough");
      return;
    }
    std::optional<Error> failure;
    const Deadline deadline = Deadline::after(kTimeout);
    while (!(failure = bootstrap.failure()) && !deadline.passed()) std::this_thread::yield();
    ASSERT_TRUE(failure);
    EXPECT_EQ(failure->message, "rank 1 has had enough");
  });
}

TEST(Bootstrap, AMissingRankEndsTheWait) {
  Bootstrap::Place place{0, 2, {"127.0.0.1", "0"}, 1, {}};
  int port = 0;
  auto listener = listen_on(place.root, &port);
  ASSERT_TRUE(listener);
  place.root_listener = std::move(*listener);
  const auto bootstrap = Bootstrap::join(std::move(place), std::chrono::milliseconds(50));
  ASSERT_FALSE(bootstrap);
  EXPECT_THAT(bootstrap.error().message, HasSubstr("1 of 2 ranks did not come"));
}

class RankEnvironment : public testing::Test {
 protected:
  Result<std::optional<RankIdentity>> identity() const {
    return rank_from_environment([this](const char* name) -> const char* {
      const auto found = variables.find(name);
      return found == variables.end() ? nullptr : found->second.c_str();
    });
  }
  std::map<std::string, std::string> variables;
};

TEST_F(RankEnvironment, NothingWithoutALauncher) {
  const auto none = identity();
  ASSERT_TRUE(none);
  EXPECT_FALSE(none->has_value());
}

TEST_F(RankEnvironment, KnowsEveryLauncher) {
  const std::pair<const char*, const char*> launchers[] = {
      {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
      {"PMI_RANK", "PMI_SIZE"},
      {"PMIX_RANK", "SLURM_NTASKS"},
      {"SLURM_PROCID", "SLURM_NTASKS"},
      {"RANK", "WORLD_SIZE"}};
  for (const auto& [rank, size] : launchers) {
    variables = {{rank, "3"}, {size, "7"}};
    const auto found = identity();
    ASSERT_TRUE(found && found->has_value()) << rank;
    EXPECT_EQ((*found)->rank, 3);
    EXPECT_EQ((*found)->size, 7);
  }
}

TEST_F(RankEnvironment, FindsTheRoot) {
  variables = {
      {"RANK", "0"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "node7"}, {"MASTER_PORT", "29500"}};
  EXPECT_EQ((*identity())->root.text(), "node7:29501") << "torchrun holds MASTER_PORT itself";
  variables["SLUICE_PERF_ROOT"] = "[::1]:4000";
  EXPECT_EQ((*identity())->root.host, "::1");
  EXPECT_EQ((*identity())->root.port, "4000");
}

TEST_F(RankEnvironment, RefusesNonsense) {
  variables = {{"RANK", "2"}, {"WORLD_SIZE", "2"}};
  EXPECT_FALSE(identity());
  variables = {{"RANK", "x"}, {"WORLD_SIZE", "2"}};
  EXPECT_FALSE(identity());
}

TEST(FaultPlan, ParsesWhatTheHelpSays) {
  for (const char* good : {"2:isend:KILL", "0:listen:SIGSTOP", "1:iallreduce:15"}) {
    EXPECT_TRUE(FaultPlan::parse(good)) << good;
  }
  for (const char* bad : {"", "2", "2:isend", "x:isend:KILL", "2:sleep:KILL", "2:isend:NOPE"}) {
    EXPECT_FALSE(FaultPlan::parse(bad)) << bad;
  }
}

}  // namespace
}  // namespace sluice::perf
