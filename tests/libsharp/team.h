// SPDX-License-Identifier: Apache-2.0
// The ranks of a communicator, each in a process of its own, and what each of them says at the end.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "sharp/libsharp/connect.h"
#include "tests/sharp/recorded_log.h"

namespace sluice::sharp::libsharp::testing {

struct Board;  // shared memory

// What a rank has, in its process.
struct Member {
  int rank = 0;
  int ranks = 0;
  sharp::testing::RecordedLog log;
  std::unique_ptr<transport::Context> context;
  std::unique_ptr<Rendezvous> rendezvous;
  std::vector<transport::ListenerAddress> handles;
  Board* board = nullptr;

  // By the stand-in.
  Result<std::unique_ptr<LibsharpClient>> connect(const Settings& settings);
  // For Team::sentence().
  void say(const std::string& text);
  // Waits until all ranks are here, or half a minute.
  void meet();
};

// Settings that load the stand-in.
Settings stand_in_settings();

// Waits until the operation is done or has failed.
Status wait_for(Client& client, Operation& operation, Duration limit = std::chrono::seconds(60));

class Team {
 public:
  explicit Team(int ranks);
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  // Sets a variable in one rank's environment, or (-1) in all.
  void set(int rank, const std::string& name, const std::string& value);

  // Runs the body as every rank; the expectations it makes become the test's.
  void run(const std::function<void(Member&)>& body);

  std::string sentence(int rank) const;
  // All ranks said the same; that.
  std::string common_sentence() const;

 private:
  const int ranks_;
  Board* board_;
  std::vector<std::vector<std::pair<std::string, std::string>>> environment_;
};

}  // namespace sluice::sharp::libsharp::testing
