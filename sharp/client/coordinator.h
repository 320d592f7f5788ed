// SPDX-License-Identifier: Apache-2.0
// Rank 0's part in the agreement: it meets the others, plans, joins, counts the votes, decides and
// tells.
//
// Whatever goes wrong becomes one sentence, and everybody who comes within the time is told that
// sentence. Thread rule: agree() blocks its caller, at most until hard_limit().
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "sharp/client/agreement.h"

namespace sluice::sharp {

class Coordinator {
 public:
  // `ranks` >= 1, rank 0 included. All arguments outlive the coordinator.
  Coordinator(transport::Context& context, const ClientSettings& settings, int ranks,
              transport::Listener& listener);
  ~Coordinator();

  Result<Agreement> agree();

 private:
  class Peer;

  void meet();
  void greet(Peer& peer);
  void compare_settings(const Peer& peer);
  Status make_plan();
  void collect_votes();
  void decide();
  void say_farewell();

  void drive_peers();
  void tell(Peer& peer);
  void abort(const std::string& reason);
  bool aborted() const { return !reason_.empty(); }
  bool all_came() const { return came_ >= ranks_ - 1; }
  std::string missing_ranks() const;

  transport::Context& context_;
  const ClientSettings& settings_;
  const int ranks_;
  transport::Listener& listener_;
  const TimePoint start_;
  Deadline meeting_end_;
  std::vector<std::unique_ptr<Peer>> peers_;  // whoever has connected
  std::vector<Peer*> by_rank_;                // those who have said who they are; [0] is this rank
  int came_ = 0;
  Plan plan_;
  std::unique_ptr<NodeJoiner> joiner_;
  std::string reason_;
  bool decided_ = false;
};

}  // namespace sluice::sharp
