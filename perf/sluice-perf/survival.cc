// SPDX-License-Identifier: Apache-2.0
#include "perf/sluice-perf/survival.h"

#include <algorithm>
#include <cstdio>

#include <nlohmann/json.hpp>

#include "perf/sluice-perf/json_file.h"
#include "perf/sluice-perf/report.h"

namespace sluice::perf {
namespace {

constexpr size_t kSteady = 8;  // so many operations in a row, to call it recovered
constexpr double kAsBefore = 2;

double seconds_between(TimePoint from, TimePoint to) {
  return in_seconds(to - from);
}

// The operations that ended in [from, to).
std::vector<SurvivalOperation> ended_between(const SurvivalFacts& facts, TimePoint from,
                                             TimePoint to) {
  std::vector<SurvivalOperation> found;
  std::copy_if(facts.operations.begin(), facts.operations.end(), std::back_inserter(found),
               [&](const SurvivalOperation& one) { return one.end >= from && one.end < to; });
  return found;
}

double median_seconds(const std::vector<SurvivalOperation>& operations) {
  std::vector<double> times;
  times.reserve(operations.size());
  for (const SurvivalOperation& one : operations) times.push_back(one.seconds);
  return median_of(std::move(times));
}

// The end of the first of kSteady operations in a row that are no slower than `limit`.
std::optional<TimePoint> steady_from(const std::vector<SurvivalOperation>& operations,
                                     double limit) {
  size_t in_a_row = 0;
  for (size_t index = 0; index < operations.size(); ++index) {
    in_a_row = operations[index].seconds <= limit ? in_a_row + 1 : 0;
    if (in_a_row == kSteady) return operations[index + 1 - kSteady].end;
  }
  return std::nullopt;
}

}  // namespace

FaultOutcome outcome_of(const SurvivalFacts& facts, const FaultBoard& board, size_t fault,
                        size_t faults) {
  FaultOutcome outcome;
  const TimePoint struck = board.strike(fault).value_or(facts.begun);
  TimePoint until = TimePoint::max();
  for (size_t other = 0; other < faults; ++other) {
    const auto next = board.strike(other);
    if (next && *next > struck) until = std::min(until, *next);
  }
  const auto before = ended_between(facts, facts.begun, struck);
  const auto after = ended_between(facts, struck, until);
  outcome.struck = seconds_between(facts.begun, struck);
  if (const auto restart = board.restart(fault)) {
    outcome.restarted = seconds_between(facts.begun, *restart);
  }
  const double median = median_seconds(before);
  outcome.median_us = median * 1e6;
  if (after.empty()) return outcome;
  const auto longest = std::max_element(after.begin(), after.end(),
                                        [](auto& a, auto& b) { return a.seconds < b.seconds; });
  outcome.gap_ms = longest->seconds * 1e3;
  const auto first = after.begin() + (longest - after.begin());
  const auto steady = steady_from({first, after.end()}, kAsBefore * median);
  outcome.recovered_ms = steady ? seconds_between(struck, *steady) * 1e3 : -1;
  const TimePoint last = after.back().end;
  outcome.after_us =
      median_seconds(ended_between(facts, last - std::chrono::seconds(1), TimePoint::max())) * 1e6;
  return outcome;
}

void print_survival(const Options& options, const FaultBoard& board, const SurvivalFacts& facts) {
  const size_t faults = options.node_faults.size();
  std::printf("#\n#%10s %7s %10s %10s %12s %10s %12s %12s\n", "target", "signal", "struck at",
              "restarted", "before", "gap", "as before", "at the end");
  std::printf("#%10s %7s %10s %10s %12s %10s %12s %12s\n", "", "", "(s)", "(s)", "(us, median)",
              "(ms)", "after (ms)", "(us, median)");
  for (size_t fault = 0; fault < faults; ++fault) {
    const FaultOutcome outcome = outcome_of(facts, board, fault, faults);
    const NodeFault& what = options.node_faults[fault];
    std::printf(
        "%11s %7d %10.3f %10s %12.1f %10.1f %12s %12.1f\n", what.target.c_str(), what.signal,
        outcome.struck,
        outcome.restarted > 0 ? format_text("%.3f", outcome.restarted).c_str() : "-",
        outcome.median_us, outcome.gap_ms,
        outcome.recovered_ms < 0 ? "never" : format_text("%.1f", outcome.recovered_ms).c_str(),
        outcome.after_us);
  }
  if (!facts.lines.empty()) std::printf("# What rank 0's plugin said\n");
  for (const WatchedLine& line : facts.lines) {
    std::printf("# %8.3f s  %s\n", seconds_between(facts.begun, line.time), line.text.c_str());
  }
  std::printf("# Operations           : %zu, none failed\n", facts.operations.size());
  std::printf("# Out of bounds values : %llu %s\n", static_cast<unsigned long long>(facts.wrong),
              facts.wrong == 0 ? "OK" : "FAILED");
}

Status write_survival(const Options& options, const FaultBoard& board, const SurvivalFacts& facts) {
  if (options.json.empty()) return {};
  nlohmann::ordered_json document{
      {"command", options.command()}, {"ranks", facts.ranks},
      {"bytes", facts.bytes},         {"operations", facts.operations.size()},
      {"wrong", facts.wrong},         {"faults", nlohmann::ordered_json::array()}};
  for (size_t fault = 0; fault < options.node_faults.size(); ++fault) {
    const FaultOutcome outcome = outcome_of(facts, board, fault, options.node_faults.size());
    document["faults"].push_back({{"target", options.node_faults[fault].target},
                                  {"signal", options.node_faults[fault].signal},
                                  {"struck_s", outcome.struck},
                                  {"restarted_s", outcome.restarted},
                                  {"median_us", outcome.median_us},
                                  {"gap_ms", outcome.gap_ms},
                                  {"recovered_ms", outcome.recovered_ms},
                                  {"after_us", outcome.after_us}});
  }
  return write_document(options.json, document);
}

}  // namespace sluice::perf
