// SPDX-License-Identifier: Apache-2.0
// sluice-agg as a process, and what becomes of a group when processes are killed or stopped.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "tests/sharp/cluster.h"
#include "tests/sharp/process.h"
#include "tests/sharp/vectors.h"

namespace sluice::sharp {
namespace {

using ::testing::HasSubstr;
using testing::Process;
using testing::Rank;

// SLUICE_AGG_PROGRAM: the build's daemon.
std::vector<std::string> daemon_with(const std::vector<std::string>& arguments) {
  std::vector<std::string> all = {SLUICE_AGG_PROGRAM};
  all.insert(all.end(), arguments.begin(), arguments.end());
  return all;
}

std::string content_of(const std::string& name) {
  std::ifstream file(name);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

class Daemon : public ::testing::Test {
 protected:
  Daemon() {
    std::string name = (std::filesystem::temp_directory_path() / "sluice-XXXXXX").string();
    folder_ = ::mkdtemp(name.data()) != nullptr ? name : "";
  }
  ~Daemon() override { std::filesystem::remove_all(folder_); }

  std::string file(const std::string& name) const { return folder_ + "/" + name; }

  // A running node; its port is known when this returns.
  Process start(std::vector<std::string> arguments = {}) {
    arguments.insert(arguments.end(), {"--listen", "127.0.0.1:0", "--port-file", file("port")});
    Process node = Process::run(daemon_with(arguments), file("log"));
    for (int at = 0; at < 2000 && !std::filesystem::exists(file("port")); ++at) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    address_ = testing::loopback();
    address_.set_port(static_cast<uint16_t>(std::atoi(content_of(file("port")).c_str())));
    return node;
  }

  ClientSettings settings() const {
    ClientSettings settings;
    settings.trees = {address_};
    return settings;
  }

  std::string folder_;
  transport::SocketAddress address_;
};

TEST_F(Daemon, EndsCleanlyBySignal) {
  for (const int number : {SIGTERM, SIGINT}) {
    std::filesystem::remove(file("port"));
    Process node = start();
    EXPECT_NE(address_.port(), 0);
    node.signal(number);
    EXPECT_EQ(node.wait(30), 0);
    EXPECT_THAT(content_of(file("log")), HasSubstr("listens on 127.0.0.1:"));
    EXPECT_THAT(content_of(file("log")), HasSubstr("ended by a signal"));
  }
}

TEST_F(Daemon, BadOptionsAreSentences) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases = {
      {{"--memory", "lots"}, "--memory lots: "},
      {{"--transport", "pigeon"}, "--transport pigeon: auto, tcp or shm is expected"},
      {{"--listen", "nowhere"}, "--listen: "},
      {{"--max-members", "4097"}, "--max-members"},
      {{"--peer-timeout", "-1"}, "--peer-timeout"},
      {{"--unheard-of"}, "--unheard-of"},
  };
  for (const auto& [arguments, text] : cases) {
    Process node = Process::run(daemon_with(arguments), file("log"));
    EXPECT_EQ(node.wait(30), 2) << text;
    EXPECT_THAT(content_of(file("log")), HasSubstr(text));
  }
}

TEST_F(Daemon, IsDrainedBySignal) {
  Process node = start();
  node.signal(SIGUSR1);
  for (int at = 0; at < 2000 && content_of(file("log")).find("drained") == std::string::npos;
       ++at) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_THAT(content_of(file("log")), HasSubstr("drained: new groups are refused"));
  node.signal(SIGTERM);
  EXPECT_EQ(node.wait(30), 0);
}

TEST_F(Daemon, APortInUseIsSaid) {
  Process first = start();
  Process second = Process::run(
      daemon_with({"--listen", "127.0.0.1:" + std::to_string(address_.port())}), file("second"));
  EXPECT_EQ(second.wait(30), 1);
  EXPECT_THAT(content_of(file("second")), HasSubstr(std::to_string(address_.port())));
}

// A rank for a process of its own: connects, then calls until something fails, which is what it
// exits with.
enum ExitCode { kWrongSum = 10, kNoClient = 11, kFailed = 12 };

int rank_main(const ClientSettings& settings,
              const std::vector<transport::ListenerAddress>& handles, Rank& rank,
              const std::string& log_file) {
  const auto client = Client::connect(rank.context, settings, handles, rank.rank, *rank.rendezvous);
  if (!client) return kNoClient;
  const int ranks = static_cast<int>(handles.size());
  const auto expected = testing::expected_of(DataType::int32, ReduceOperator::sum, 20000, ranks, 1);
  for (;;) {
    testing::Share share(DataType::int32, ReduceOperator::sum, 20000, rank.rank, 1);
    const auto operation = (*client)->allreduce(share.arguments());
    const Status status =
        operation ? testing::wait_for(**client, **operation) : fail(operation.error());
    if (!status) {
      std::ofstream(log_file) << status.error().message;
      return kFailed;
    }
    if (share.result() != expected) return kWrongSum;
    std::ofstream(log_file) << "running";
  }
}

class Killed : public Daemon, public ::testing::WithParamInterface<int> {
 protected:
  // Three ranks at work; listeners are opened before the forks, so that all know all.
  std::vector<Process> start_ranks() {
    transport::Settings transport;
    transport.peer_timeout = std::chrono::seconds(2);
    for (int rank = 0; rank < 3; ++rank) {
      ranks_.push_back(std::make_unique<Rank>(rank, transport));
      handles_.push_back(ranks_.back()->rendezvous->address());
    }
    std::vector<Process> processes;
    for (int rank = 0; rank < 3; ++rank) {
      processes.push_back(Process::fork([&, rank] {
        return rank_main(settings(), handles_, *ranks_[static_cast<size_t>(rank)], said(rank));
      }));
    }
    for (int rank = 0; rank < 3; ++rank) {
      for (int at = 0; at < 3000 && content_of(said(rank)) != "running"; ++at) {
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
      }
      EXPECT_EQ(content_of(said(rank)), "running");
    }
    return processes;
  }
  std::string said(int rank) const { return file("rank" + std::to_string(rank)); }

  std::vector<std::unique_ptr<Rank>> ranks_;
  std::vector<transport::ListenerAddress> handles_;
};

TEST_P(Killed, ARankIsNamedToTheOthers) {
  Process node = start({"--peer-timeout", "2s"});
  std::vector<Process> ranks = start_ranks();
  ranks[1].signal(GetParam());
  EXPECT_EQ(ranks[0].wait(40), kFailed);
  EXPECT_EQ(ranks[2].wait(40), kFailed);
  EXPECT_THAT(content_of(said(0)), HasSubstr("rank 1 ("));
  EXPECT_THAT(content_of(said(0)), HasSubstr("was lost"));
  EXPECT_EQ(content_of(said(0)), content_of(said(2)));
  node.signal(SIGTERM);
  EXPECT_EQ(node.wait(30), 0);
  EXPECT_THAT(content_of(file("log")), HasSubstr("rank 1 ("));
}

TEST_P(Killed, ANodeIsNoticedByAll) {
  Process node = start({"--peer-timeout", "2s"});
  std::vector<Process> ranks = start_ranks();
  node.signal(GetParam());
  for (int rank = 0; rank < 3; ++rank) {
    EXPECT_EQ(ranks[static_cast<size_t>(rank)].wait(40), kFailed);
    EXPECT_THAT(content_of(said(rank)), HasSubstr("node " + address_.text()));
  }
}

std::string signal_name(const ::testing::TestParamInfo<int>& info) {
  return info.param == SIGKILL ? "kill" : "stop";
}

INSTANTIATE_TEST_SUITE_P(By, Killed, ::testing::Values(SIGKILL, SIGSTOP), signal_name);

}  // namespace
}  // namespace sluice::sharp
