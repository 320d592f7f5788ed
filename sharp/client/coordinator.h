// SPDX-License-Identifier: Apache-2.0
// Rank 0's part in the agreement: it meets the others, finds a tree, plans, joins, counts the
// votes, decides and tells.
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
  // `hosts[i]`: address of rank i, rank 0 included. The arguments outlive the coordinator.
  Coordinator(transport::Context& context, const ClientSettings& settings,
              std::vector<std::string> hosts, transport::Listener& listener);
  ~Coordinator();

  Result<Agreement> agree();

 private:
  class Peer;

  void meet();
  void greet(Peer& peer);
  void compare_settings(const Peer& peer);
  Status make_shape();
  void find_tree();
  void take_offer(TreeOffer offer);
  void send_plans();
  void collect_votes();
  bool has_voted(Peer& peer, const Deadline& deadline);
  void decide();
  void say_farewell();
  Agreement conclude();

  void drive_peers();
  void tell(Peer& peer);
  void abort(const std::string& reason);
  void abort_unless(const Status& status) {
    if (!status) abort(status.error().message);
  }
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
  std::string cannot_fall_back_;  // the first rank that cannot
  Deadline join_end_;
  std::unique_ptr<TreeSource> source_;
  TreeRequest request_;
  TreeOffer offer_;
  Plan plan_;
  std::unique_ptr<NodeJoiner> joiner_;
  std::string reason_;
  bool decided_ = false;
};

}  // namespace sluice::sharp
