// SPDX-License-Identifier: Apache-2.0
#include "tests/libsharp/team.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "tests/sharp/process.h"

namespace sluice::sharp::libsharp::testing {
namespace {

constexpr int kMostRanks = 8;
constexpr int kPatience = 100;  // seconds for a whole test

transport::SocketAddress loopback() {
  const auto address = transport::SocketAddress::parse("127.0.0.1:0");
  EXPECT_TRUE(address);
  return *address;
}

}  // namespace

struct Board {
  struct Place {
    transport::ListenerAddress address;
    char sentence[1024];
  };
  Place places[kMostRanks];
  std::atomic<int> arrivals;  // at all meetings together
};

Result<std::unique_ptr<LibsharpClient>> Member::connect(const Settings& settings) {
  return libsharp::connect(*context, settings, handles, rank, *rendezvous);
}

void Member::say(const std::string& text) {
  std::snprintf(board->places[rank].sentence, sizeof board->places[rank].sentence, "%s",
                text.c_str());
}

void Member::meet() {
  const int before = board->arrivals.fetch_add(1);
  const int all = (before / ranks + 1) * ranks;
  const Deadline deadline = Deadline::after(std::chrono::seconds(30));
  while (board->arrivals.load() < all && !deadline.passed()) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

Settings stand_in_settings() {
  Settings settings;
  settings.sharp_library = SLUICE_STAND_IN_LIBRARY;
  return settings;
}

Status wait_for(Client& client, Operation& operation, Duration limit) {
  const Deadline deadline = Deadline::after(limit);
  for (;;) {
    const auto done = client.test(operation, nullptr);
    if (!done) return fail(done.error());
    if (*done) return {};
    if (deadline.passed()) return fail(ErrorKind::timeout, "the operation is stuck");
    std::this_thread::yield();
  }
}

Team::Team(int ranks) : ranks_(ranks), environment_(static_cast<size_t>(ranks)) {
  void* memory =
      ::mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  EXPECT_NE(memory, MAP_FAILED);
  board_ = new (memory) Board();
}

Team::~Team() {
  ::munmap(board_, sizeof(Board));
}

void Team::set(int rank, const std::string& name, const std::string& value) {
  for (int at = 0; at < ranks_; ++at) {
    if (rank < 0 || at == rank) environment_[static_cast<size_t>(at)].emplace_back(name, value);
  }
}

void Team::run(const std::function<void(Member&)>& body) {
  const auto live = [&](int rank) {
    for (const auto& [name, value] : environment_[static_cast<size_t>(rank)]) {
      ::setenv(name.c_str(), value.c_str(), 1);
    }
    Member member;
    member.rank = rank;
    member.ranks = ranks_;
    member.board = board_;
    member.context =
        std::make_unique<transport::Context>(member.log.logger(), transport::Settings());
    auto opened = Rendezvous::open(*member.context, loopback());
    EXPECT_TRUE(opened) << opened.error().message;
    member.rendezvous = *std::move(opened);
    board_->places[rank].address = member.rendezvous->address();
    member.meet();
    for (int at = 0; at < ranks_; ++at) member.handles.push_back(board_->places[at].address);
    body(member);
  };
  std::vector<sharp::testing::Process> processes;
  for (int rank = 0; rank < ranks_; ++rank) {
    processes.push_back(sharp::testing::Process::fork([&, rank] {
      live(rank);
      std::fflush(stdout);
      return ::testing::Test::HasFailure() ? 1 : 0;
    }));
  }
  for (int rank = 0; rank < ranks_; ++rank) {
    const auto status = processes[static_cast<size_t>(rank)].wait(kPatience);
    EXPECT_EQ(status.value_or(-1), 0) << "rank " << rank << ", which says: " << sentence(rank);
  }
}

std::string Team::sentence(int rank) const {
  return board_->places[rank].sentence;
}

std::string Team::common_sentence() const {
  for (int rank = 1; rank < ranks_; ++rank) {
    EXPECT_EQ(sentence(rank), sentence(0)) << "rank " << rank;
  }
  return sentence(0);
}

}  // namespace sluice::sharp::libsharp::testing
