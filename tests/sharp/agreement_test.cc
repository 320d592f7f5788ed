// SPDX-License-Identifier: Apache-2.0
// All or nothing: whatever goes wrong while the ranks agree, each of them hears the same sentence,
// in time.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <set>
#include <string>

#include "tests/sharp/cluster.h"
#include "tests/sharp/vectors.h"

namespace sluice::sharp {
namespace {

using testing::Cluster;
using ::testing::HasSubstr;
using testing::NodeThread;
using testing::Rank;
using ::testing::StartsWith;

constexpr auto kShort = std::chrono::seconds(2);

ClientSettings settings_for(const NodeThread& node) {
  ClientSettings settings;
  settings.trees = {node.address()};
  return settings;
}

// All ranks that came have failed, and with the same words.
std::string common_refusal(Cluster& cluster, const std::function<bool(int)>& came) {
  std::set<std::string> sentences;
  for (int rank = 0; rank < cluster.size(); ++rank) {
    if (!came(rank)) continue;
    EXPECT_FALSE(cluster[rank].client) << "rank " << rank << " got a client";
    if (!cluster[rank].client) sentences.insert(cluster[rank].client.error().message);
  }
  EXPECT_EQ(sentences.size(), 1u) << ::testing::PrintToString(sentences);
  return sentences.empty() ? "" : *sentences.begin();
}

bool everybody(int) {
  return true;
}

TEST(Agreement, NoNodeConfigured) {
  Cluster cluster(3);
  cluster.connect(ClientSettings());
  EXPECT_THAT(common_refusal(cluster, everybody),
              StartsWith("in-network reduction refused: no aggregation node is configured: set "
                         "SLUICE_AGG"));
}

TEST(Agreement, MissingNode) {
  ClientSettings settings;
  settings.connect_timeout = kShort;
  {
    NodeThread gone;
    settings.trees = {gone.address()};
  }
  Cluster cluster(3);
  const TimePoint start = Clock::now();
  cluster.connect(settings);
  EXPECT_LT(Clock::now() - start, std::chrono::seconds(15));
  EXPECT_THAT(common_refusal(cluster, everybody),
              HasSubstr("node " + settings.trees[0].text() + " "));
}

TEST(Agreement, FullNode) {
  NodeLimits limits;
  limits.max_groups = 1;
  NodeThread node(transport::TransportChoice::automatic, limits);
  Cluster first(2);
  first.connect(settings_for(node));
  ASSERT_TRUE(first[0].client && first[1].client);
  Cluster second(3);
  second.connect(settings_for(node));
  EXPECT_EQ(
      common_refusal(second, everybody),
      "in-network reduction refused: node " + node.address().text() + " is full: 1 of 1 groups");
  // When the first group ends there is room again.
  first[0].client = fail(ErrorKind::internal, "over");
  first[1].client = fail(ErrorKind::internal, "over");
  const Deadline deadline = Deadline::after(std::chrono::seconds(20));
  bool again = false;
  while (!again && !deadline.passed()) {
    Cluster third(2);
    third.connect(settings_for(node));
    again = third[0].client && third[1].client;
  }
  EXPECT_TRUE(again);
}

TEST(Agreement, ARankThatNeverComes) {
  NodeThread node;
  ClientSettings settings = settings_for(node);
  settings.connect_timeout = kShort;
  Cluster cluster(4);
  const auto comes = [](int rank) { return rank != 2; };
  const TimePoint start = Clock::now();
  cluster.connect(settings, comes);
  EXPECT_LT(Clock::now() - start, std::chrono::seconds(12));
  EXPECT_THAT(common_refusal(cluster, comes),
              StartsWith("in-network reduction refused: rank 2 did not come within "));
}

TEST(Agreement, RankZeroNeverComes) {
  NodeThread node;
  ClientSettings settings = settings_for(node);
  settings.connect_timeout = kShort;
  Cluster cluster(3);
  const auto comes = [](int rank) { return rank != 0; };
  const TimePoint start = Clock::now();
  cluster.connect(settings, comes);
  EXPECT_LT(Clock::now() - start, std::chrono::seconds(12));
  EXPECT_THAT(common_refusal(cluster, comes), StartsWith("in-network reduction refused: rank 0 "));
}

TEST(Agreement, RanksThatCountDifferently) {
  NodeThread node;
  ClientSettings settings = settings_for(node);
  settings.connect_timeout = kShort;
  Cluster cluster(3);
  const auto all = cluster.handles();
  cluster.each([&](Rank& rank) {
    std::vector<transport::ListenerAddress> own = all;
    if (rank.rank == 1) own.push_back(all[2]);
    rank.client = Client::connect(rank.context, settings, own, rank.rank, *rank.rendezvous);
  });
  const std::string sentence = common_refusal(cluster, everybody);
  EXPECT_THAT(sentence, StartsWith("in-network reduction refused: rank 1 ("));
  EXPECT_THAT(sentence, HasSubstr("counts 4 ranks, rank 0 counts 3"));
}

TEST(Agreement, TheSameRankTwice) {
  NodeThread node;
  ClientSettings settings = settings_for(node);
  settings.connect_timeout = kShort;
  Cluster cluster(3);
  const auto all = cluster.handles();
  cluster.each([&](Rank& rank) {
    const int claimed = rank.rank == 2 ? 1 : rank.rank;
    rank.client = Client::connect(rank.context, settings, all, claimed, *rank.rendezvous);
  });
  EXPECT_THAT(common_refusal(cluster, everybody), HasSubstr("rank 1 came twice"));
}

TEST(Agreement, SettingsThatDifferAreRankZeros) {
  NodeThread node;
  Cluster cluster(2);
  const auto all = cluster.handles();
  cluster.each([&](Rank& rank) {
    ClientSettings settings = settings_for(node);
    if (rank.rank == 1) settings.chunk_bytes = 128 << 10;
    if (rank.rank == 1) settings.trees.clear();
    rank.client = Client::connect(rank.context, settings, all, rank.rank, *rank.rendezvous);
  });
  for (int rank = 0; rank < 2; ++rank) {
    ASSERT_TRUE(cluster[rank].client) << cluster[rank].client.error().message;
    EXPECT_THAT((*cluster[rank].client)->description(), HasSubstr("chunk 64 KiB"));
  }
  EXPECT_TRUE(cluster[0].log.contains("is set to chunk 131072")) << cluster[0].log.all();
}

TEST(Agreement, BadRankOrTooMany) {
  NodeThread node;
  Cluster cluster(1);
  const auto one = cluster.handles();
  const auto settings = settings_for(node);
  EXPECT_FALSE(Client::connect(cluster[0].context, settings, one, 1, *cluster[0].rendezvous));
  const std::vector<transport::ListenerAddress> many(kMaxMembers + 1, one[0]);
  const auto refused =
      Client::connect(cluster[0].context, settings, many, 0, *cluster[0].rendezvous);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::refused);
}

// More ranks than a node takes, and no tree of nodes: all hear it, before any of them has joined.
TEST(Agreement, TooManyForOneNode) {
  NodeThread node;
  Cluster cluster(kMaxFanIn + 1);
  ClientSettings settings = settings_for(node);
  cluster.connect(settings);
  EXPECT_THAT(common_refusal(cluster, everybody),
              HasSubstr("would have 65 children and takes 64: put the ranks below more nodes"));
}

// A member that goes while the others wait.
TEST(Failure, AClientThatEndsInTheMiddle) {
  NodeThread node;
  Cluster cluster(3);
  cluster.connect(settings_for(node));
  std::string sentences[3];
  cluster.each([&](Rank& rank) {
    ASSERT_TRUE(rank.client) << rank.client.error().message;
    if (rank.rank == 2) {
      rank.client = fail(ErrorKind::internal, "gone");
      return;
    }
    testing::Share share(DataType::float32, ReduceOperator::sum, 100000, rank.rank, 1);
    const auto operation = (*rank.client)->allreduce(share.arguments());
    if (!operation) {
      sentences[rank.rank] = operation.error().message;
      return;
    }
    const Status status = testing::wait_for(**rank.client, **operation);
    ASSERT_FALSE(status);
    sentences[rank.rank] = status.error().message;
  });
  EXPECT_THAT(sentences[0], HasSubstr("rank 2 ("));
  EXPECT_THAT(sentences[1], HasSubstr("rank 2 ("));
}

TEST(Failure, ANodeThatDies) {
  auto node = std::make_unique<NodeThread>();
  Cluster cluster(3);
  cluster.connect(settings_for(*node));
  std::thread killer([&node] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    node.reset();
  });
  cluster.each([&](Rank& rank) {
    ASSERT_TRUE(rank.client) << rank.client.error().message;
    Status status;
    const Deadline deadline = Deadline::after(std::chrono::seconds(40));
    while (status && !deadline.passed()) {
      testing::Share share(DataType::float32, ReduceOperator::sum, 30000, rank.rank, 1);
      const auto operation = (*rank.client)->allreduce(share.arguments());
      status = operation ? testing::wait_for(**rank.client, **operation) : fail(operation.error());
    }
    ASSERT_FALSE(status);
    EXPECT_NE(status.error().kind, ErrorKind::timeout) << status.error().message;
  });
  killer.join();
}

TEST(Failure, GarbageOnTheNodesPort) {
  NodeThread node;
  Cluster cluster(2);
  cluster.connect(settings_for(node));
  for (int round = 0; round < 20; ++round) {
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ASSERT_GE(fd, 0);
    ASSERT_EQ(::connect(fd, node.address().get(), node.address().size()), 0);
    const std::string noise(static_cast<size_t>(round * 50), static_cast<char>(round * 13));
    static_cast<void>(::send(fd, noise.data(), noise.size(), MSG_NOSIGNAL));
    ::close(fd);
  }
  const auto expected = testing::expected_of(DataType::int32, ReduceOperator::sum, 5000, 2, 3);
  cluster.each([&](Rank& rank) {
    ASSERT_TRUE(rank.client) << rank.client.error().message;
    testing::Share share(DataType::int32, ReduceOperator::sum, 5000, rank.rank, 3);
    const auto operation = (*rank.client)->allreduce(share.arguments());
    ASSERT_TRUE(operation);
    ASSERT_TRUE(testing::wait_for(**rank.client, **operation));
    EXPECT_EQ(share.result(), expected);
  });
}

}  // namespace
}  // namespace sluice::sharp
