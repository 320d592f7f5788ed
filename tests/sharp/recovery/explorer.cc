// SPDX-License-Identifier: Apache-2.0
#include "tests/sharp/recovery/explorer.h"

#include <functional>
#include <unordered_set>

namespace sluice::sharp::testing {
namespace {

std::string text(const Action& action) {
  const std::string rank = std::to_string(action.rank);
  const std::string number = std::to_string(action.number);
  switch (action.kind) {
    case Action::Kind::post:
      return "rank " + rank + " calls operation " + number;
    case Action::Kind::deliver:
      return "result " + number + " reaches rank " + rank;
    case Action::Kind::test:
      return "rank " + rank + " takes operation " + number + " back";
    case Action::Kind::die:
      return "the tree dies";
  }
  return "?";
}

class Search {
 public:
  explicit Search(const Scenario& scenario) { visit(State(scenario)); }

  Finding finding() && { return std::move(finding_); }

 private:
  // Two hashes of 64 bits: a collision would hide a state, not make up an error.
  bool is_new(const std::string& key) {
    const size_t one = std::hash<std::string>()(key);
    const size_t other = std::hash<std::string>()(key + "x");
    return seen_.insert(one * 0x9e3779b97f4a7c15U ^ other).second;
  }

  void visit(const State& state) {
    if (!is_new(state.key())) return;
    ++finding_.states;
    const std::vector<Action> actions = state.actions();
    bool stuck = !state.finished();
    for (const Action& action : actions) {
      steps_.push_back(action);
      State next(state);
      if (const std::string wrong = next.apply(action); !wrong.empty()) {
        report(wrong);
      } else {
        visit(next);
      }
      steps_.pop_back();
      if (!finding_.wrong.empty()) return;
      if (action.kind != Action::Kind::die) stuck = false;
    }
    if (stuck) report("hangs: nothing more happens, but operations are not over");
  }

  void report(const std::string& wrong) {
    if (!finding_.wrong.empty()) return;
    finding_.wrong = wrong + ", after:";
    for (const Action& step : steps_) finding_.wrong += "\n  " + text(step);
  }

  std::vector<Action> steps_;
  std::unordered_set<size_t> seen_;
  Finding finding_;
};

}  // namespace

Finding explore(const Scenario& scenario) {
  return Search(scenario).finding();
}

}  // namespace sluice::sharp::testing
