// SPDX-License-Identifier: Apache-2.0
// Rank 0's head in a recovery: what has happened goes in, what the ranks are to do comes out. Pure
// but for the source of trees; time is what the caller says it is.
//
//   steady --tree breaks or is revoked--> leaving --all stand--> entering --all ready--> steady
//   steady --a better tree is offered--> trying --all ready--> switching --all stand--> steady
//
// A broken tree is replaced by nodes that the ranks host, in the same brackets (substitute.h); a
// group on such a tree asks its source for a real one now and then. Whatever fails is bounded: the
// answers of the ranks by time, hosted trees by attempts. Thread rule: its owner's.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "sharp/client/recovery/substitute.h"
#include "sharp/client/tree_source.h"
#include "sharp/wire/reform.h"

namespace sluice::sharp {

using Command = std::variant<Pause, Prepare, Resume, Fatal>;

class Leader {
 public:
  struct Setup {
    GroupShape shape;                // of the running epoch
    Tree tree;                       // that it runs on
    std::vector<std::string> names;  // of the ranks: "gpu07, pid 4711"
    TreeRequest request;             // what the source was asked for
    std::string job;
    Duration join_budget = std::chrono::seconds(5);
    Duration answer_time = std::chrono::seconds(10);  // of a rank that lives
  };
  // `source` may be null: no way back. It outlives the leader.
  Leader(Setup setup, TreeSource* source);

  void on_trouble(uint16_t rank, const Trouble& trouble, TimePoint now);
  void on_standing(uint16_t rank, Standing standing, TimePoint now);
  void on_ready(uint16_t rank, const Ready& ready, TimePoint now);
  void on_lost(uint16_t rank, const std::string& sentence);  // the rank has died
  void on_departed(uint16_t rank);                           // it has closed, in order
  // Deadlines and the source of trees; to be called at wake_at(), or earlier.
  void tick(TimePoint now);
  TimePoint wake_at(TimePoint now) const;

  struct Order {
    uint16_t rank = 0;
    Command command;
  };
  std::vector<Order> take_orders() { return std::exchange(orders_, {}); }
  struct Notice {
    bool warning = false;
    std::string text;
  };
  std::vector<Notice> take_notices() { return std::exchange(notices_, {}); }

  bool steady() const { return phase_ == Phase::steady; }
  // The ranks are off one tree and not on the next: nobody can be spared.
  bool exchanging() const {
    return phase_ == Phase::leaving || phase_ == Phase::entering || phase_ == Phase::switching;
  }
  bool ended() const { return phase_ == Phase::ended; }
  bool on_substitute() const { return hosted_; }
  uint32_t epoch() const { return shape_.epoch; }

 private:
  enum class Phase { steady, leaving, entering, trying, switching, ended };

  uint16_t ranks() const { return static_cast<uint16_t>(names_.size()); }
  std::string name_of_rank(uint16_t rank) const;
  std::string group_name() const;
  void order_all(const Command& command);
  void warn(std::string text) { notices_.push_back({true, std::move(text)}); }
  void inform(std::string text) { notices_.push_back({false, std::move(text)}); }

  void leave_tree(const std::string& reason, TimePoint now);
  void avoid_what_failed(const std::string& sentence);
  void enter_substitute(TimePoint now);
  void prepare(const Tree& tree, TimePoint now);
  void retry_or_end(const std::string& reason, TimePoint now);
  void go_on(TimePoint now);
  void report_return(TimePoint now);
  void end(const std::string& sentence);
  void await_answers(Phase phase, TimePoint now, Duration limit);
  void check_deadline(TimePoint now);
  std::string silent_ranks() const;

  void tend_source(TimePoint now);
  void ask(TimePoint now);
  void take_offer(const TreeOffer& offer, TimePoint now);
  void give_up_asking(TimePoint now);

  // The group.
  GroupShape shape_;
  Tree tree_;
  const Tree brackets_;  // of the first tree
  const std::vector<std::string> names_;
  const Duration join_budget_;
  const Duration answer_time_;
  std::string job_;
  bool hosted_ = false;  // tree_ is a substitute

  // The exchange that is going on.
  Phase phase_ = Phase::steady;
  uint32_t last_epoch_;  // that was tried
  Substitute substitute_;
  Tree next_tree_;
  std::string next_token_;
  std::vector<std::optional<Standing>> standings_;
  std::vector<bool> answered_;
  TimePoint deadline_ = TimePoint::max();
  TimePoint stopped_at_{};
  int attempts_ = 0;
  std::string reason_;

  // A rank that a node blames may be about to be lost: then that is the reason.
  std::optional<std::string> suspicion_;
  TimePoint suspicion_ends_{};
  // Substitutes that broke one after the other without a chunk between them.
  int strikes_ = 0;
  uint64_t last_progress_ = 0;
  std::optional<uint16_t> departed_;

  // The way back.
  TreeSource* const source_;
  TreeRequest request_;
  bool asking_ = false;
  TimePoint asking_ends_{};
  TimePoint ask_again_{};
  Duration patience_;
  std::string revoked_;  // why the tree must be given up, while another is asked for

  std::vector<Order> orders_;
  std::vector<Notice> notices_;
};

}  // namespace sluice::sharp
