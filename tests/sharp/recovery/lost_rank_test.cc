// SPDX-License-Identifier: Apache-2.0
// Ranks as processes, of which one is killed or stopped: no tree brings it back, so all others end,
// in bounded time and with one sentence that names it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "sharp/agg/embedded_node.h"
#include "tests/sharp/recovery/site.h"
#include "tests/sharp/recovery/workload.h"
#include "tests/sharp/vectors.h"

namespace sluice::sharp {
namespace {

using ::testing::HasSubstr;
using testing::Process;
using testing::Rank;
using testing::Site;

enum LostRankExit { kNoClient = 11, kFailed = 12 };

std::string said_in(const std::string& name) {
  std::ifstream file(name);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

void say(const std::string& file, const std::string& text) {
  std::ofstream(file + ".new") << text;
  std::filesystem::rename(file + ".new", file);
}

// Calls until something fails, and says what.
int rank_main(const ClientSettings& settings,
              const std::vector<transport::ListenerAddress>& handles, Rank& rank,
              const std::string& file) {
  const auto client = Client::connect(rank.context, settings, handles, rank.rank, *rank.rendezvous);
  if (!client) {
    say(file, client.error().message);
    return kNoClient;
  }
  for (int call = 0;; ++call) {
    testing::Share share(DataType::int32, ReduceOperator::sum, 20000, rank.rank, 1);
    const auto operation = (*client)->allreduce(share.arguments());
    const Status status =
        operation ? testing::wait_for(**client, **operation) : fail(operation.error());
    if (!status) {
      say(file, status.error().message);
      return kFailed;
    }
    if (call == 5) say(file, "running");
  }
}

struct Victim {
  int rank;
  int signal;
};

class LostRank : public ::testing::TestWithParam<Victim> {
 protected:
  static constexpr int kRanks = 3;

  LostRank() {
    std::string name = (std::filesystem::temp_directory_path() / "sluice-XXXXXX").string();
    folder_ = ::mkdtemp(name.data()) != nullptr ? name : "";
  }
  ~LostRank() override { std::filesystem::remove_all(folder_); }

  std::string said(int rank) const { return folder_ + "/rank" + std::to_string(rank); }
  void await_running(int rank) {
    for (int at = 0; at < 4000 && said_in(said(rank)) != "running"; ++at) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    EXPECT_EQ(said_in(said(rank)), "running");
  }
  void start_ranks(const ClientSettings& settings) {
    transport::Settings transport;
    transport.peer_timeout = std::chrono::seconds(2);
    for (int rank = 0; rank < kRanks; ++rank) {
      ranks_.push_back(std::make_unique<Rank>(rank, transport));
      handles_.push_back(ranks_.back()->rendezvous->address());
    }
    for (int rank = 0; rank < kRanks; ++rank) {
      processes_.push_back(Process::fork([&, rank] {
        return rank_main(settings, handles_, *ranks_[static_cast<size_t>(rank)], said(rank));
      }));
    }
    for (int rank = 0; rank < kRanks; ++rank) await_running(rank);
  }

  std::string folder_;
  std::vector<std::unique_ptr<Rank>> ranks_;
  std::vector<transport::ListenerAddress> handles_;
  std::vector<Process> processes_;
};

TEST_P(LostRank, IsNamedToTheOthers) {
  Site site(1, {"--peer-timeout", "2s"});
  ClientSettings settings;
  settings.trees = {site.tree(0)};
  settings.node_hosts = std::make_shared<EmbeddedNodeFactory>();
  start_ranks(settings);
  const Victim victim = GetParam();
  processes_[static_cast<size_t>(victim.rank)].signal(victim.signal);
  std::string sentence;
  for (int rank = 0; rank < kRanks; ++rank) {
    if (rank == victim.rank) continue;
    EXPECT_EQ(processes_[static_cast<size_t>(rank)].wait(40), kFailed) << said_in(said(rank));
    EXPECT_THAT(said_in(said(rank)), HasSubstr("rank " + std::to_string(victim.rank) + " "));
    EXPECT_THAT(said_in(said(rank)), HasSubstr("was lost"));
  }
}

std::string name_of_victim(const ::testing::TestParamInfo<Victim>& victim) {
  return (victim.param.signal == SIGKILL ? "killing" : "stopping") +
         std::to_string(victim.param.rank);
}

INSTANTIATE_TEST_SUITE_P(By, LostRank,
                         ::testing::Values(Victim{0, SIGKILL}, Victim{1, SIGKILL},
                                           Victim{2, SIGSTOP}),
                         name_of_victim);

}  // namespace
}  // namespace sluice::sharp
