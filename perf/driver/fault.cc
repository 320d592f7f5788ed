// SPDX-License-Identifier: Apache-2.0
#include "perf/driver/fault.h"

#include <unistd.h>

#include <charconv>
#include <csignal>
#include <cstdio>
#include <utility>

namespace sluice::perf {
namespace {

constexpr std::pair<std::string_view, Stage> kStages[] = {
    {"listen", Stage::listen}, {"connect", Stage::connect}, {"accept", Stage::accept},
    {"isend", Stage::isend},   {"test", Stage::test},       {"iallreduce", Stage::iallreduce}};
constexpr std::pair<std::string_view, int> kSignals[] = {
    {"KILL", SIGKILL}, {"STOP", SIGSTOP}, {"TERM", SIGTERM}, {"SEGV", SIGSEGV}};

// Data-path stages strike in the middle of traffic, not at its first call.
int strike_at(Stage stage) {
  return stage == Stage::isend || stage == Stage::iallreduce ? 3 : stage == Stage::test ? 7 : 1;
}

bool parse_number(std::string_view text, int& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace

Result<FaultPlan> FaultPlan::parse(std::string_view text) {
  const size_t first = text.find(':');
  const size_t second = first == text.npos ? text.npos : text.find(':', first + 1);
  const auto bad = [&] {
    return fail(ErrorKind::invalid_argument,
                "--fault " + std::string(text) +
                    ": expected rank:stage:signal, stage one of listen, connect, accept, isend, "
                    "test, iallreduce, signal one of KILL, STOP, TERM, SEGV or a number");
  };
  if (second == text.npos) return bad();
  FaultPlan plan;
  if (!parse_number(text.substr(0, first), plan.rank_)) return bad();
  const std::string_view stage = text.substr(first + 1, second - first - 1);
  bool known = false;
  for (const auto& [name, value] : kStages) {
    if (name != stage) continue;
    plan.stage_ = value;
    known = true;
  }
  if (!known) return bad();
  plan.signal_ = parse_signal(text.substr(second + 1));
  if (plan.signal_ == 0) return bad();
  return plan;
}

int parse_signal(std::string_view text) {
  if (text.starts_with("SIG")) text.remove_prefix(3);
  for (const auto& [name, value] : kSignals) {
    if (name == text) return value;
  }
  int number = 0;
  return parse_number(text, number) && number > 0 ? number : 0;
}

void FaultPlan::strike() {
  if (calls_.fetch_add(1, std::memory_order_relaxed) + 1 != strike_at(stage_)) return;
  std::fprintf(stderr, "rank %d: fault injection: signal %d to itself\n", rank_, signal_);
  ::kill(::getpid(), signal_);
}

}  // namespace sluice::perf
