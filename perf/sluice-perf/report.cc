// SPDX-License-Identifier: Apache-2.0
#include "perf/sluice-perf/report.h"

#include <algorithm>
#include <cstdio>

#include <nlohmann/json.hpp>

#include "perf/driver/test_data.h"
#include "perf/sluice-perf/json_file.h"

namespace sluice::perf {
namespace {

std::string wrong_text(const Row& row) {
  return row.checked ? std::to_string(row.wrong) : "N/A";
}

// nccl-tests' width of a number: three digits that matter.
std::string time_text(double value) {
  return format_text(value < 100 ? "%.2f" : value < 1000 ? "%.1f" : "%.0f", value);
}

void print_bounds(const Options& options, int ranks) {
  if (options.collective == Collective::allgather) {
    std::printf("# Check: every element, exact\n");
    return;
  }
  std::string text;
  for (const TypeInfo& type : options.types) {
    if (type.unit_roundoff == 0) continue;
    text += format_text("%s %s %.2e", text.empty() ? "" : ",", type.name,
                        error_bound(type.type, ncclSum, ranks, ranks - 1));
  }
  std::printf("# Check: every element, integers and min/max exact");
  if (!text.empty()) {
    std::printf(
        "; float sums within g x sum|x|, products within g x |product|;\n"
        "#        g for a rounding at every hop (a tree's is smaller):%s",
        text.c_str());
  }
  std::printf("; same bits on all ranks\n");
}

}  // namespace

double median_of(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const size_t middle = values.size() / 2;
  return values.size() % 2 != 0 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

Report::Report(const Options& options, JobFacts facts, bool speaks)
    : options_(options), facts_(std::move(facts)), speaks_(speaks) {}

void Report::header() const {
  if (!speaks_ || options_.quiet) return;
  const bool p2p = options_.p2p;
  std::printf("# %s: ranks %d, sizes %zu to %zu bytes, %d iterations after %d to warm up%s\n",
              options_.command(), facts_.ranks, options_.least_bytes, options_.most_bytes,
              options_.iterations, options_.warmups, options_.in_place ? ", in place" : "");
  for (size_t index = 0; index < facts_.plugins.size(); ++index) {
    std::printf("# Plugin %zu: %s\n", index, facts_.plugins[index].c_str());
  }
  if (p2p) {
    if (options_.check) std::printf("# Check: every byte received\n");
    std::printf("#\n#%11s %6s %10s %9s %7s %12s\n#%11s %6s %10s %9s %7s %12s\n", "size", "plugin",
                "latency", "bandwidth", "#wrong", "wire bytes", "(B)", "", "(us)", "(GB/s)", "",
                "per message");
    return;
  }
  if (options_.check) print_bounds(options_, facts_.ranks);
  std::printf("#\n#%11s %12s %8s %6s %9s %6s %10s %7s %7s %7s %12s\n", "size", "count", "type",
              "redop", "algo", "plugin", "time", "algbw", "busbw", "#wrong", "wire bytes");
  std::printf("#%11s %12s %8s %6s %9s %6s %10s %7s %7s %7s %12s\n", "(B)", "(elements)", "", "", "",
              "", "(us)", "(GB/s)", "(GB/s)", "", "per rank");
}

void Report::add(const Row& row) {
  rows_.push_back(row);
  if (!speaks_ || options_.quiet) return;
  if (options_.p2p) {
    std::printf("%12zu %6zu %10s %9.3f %7s %12llu\n", row.bytes, row.plugin,
                time_text(row.time_us).c_str(), row.algorithm_bandwidth, wrong_text(row).c_str(),
                static_cast<unsigned long long>(row.wire_bytes));
  } else {
    std::printf("%12zu %12zu %8s %6s %9s %6zu %10s %7.3f %7.3f %7s %12llu\n", row.bytes, row.count,
                row.type.c_str(), row.op.c_str(), row.algorithm.c_str(), row.plugin,
                time_text(row.time_us).c_str(), row.algorithm_bandwidth, row.bus_bandwidth,
                wrong_text(row).c_str(), static_cast<unsigned long long>(row.wire_bytes));
  }
  std::fflush(stdout);
}

uint64_t Report::wrong() const {
  uint64_t sum = 0;
  for (const Row& row : rows_) sum += row.wrong;
  return sum;
}

double Report::average_bus_bandwidth() const {
  double sum = 0;
  for (const Row& row : rows_) sum += row.bus_bandwidth;
  return rows_.empty() ? 0 : sum / static_cast<double>(rows_.size());
}

std::string Report::verdict() const {
  std::vector<double> ratios;
  for (const Ratio& ratio : ratios_) {
    if (ratio.what == "algorithm") ratios.push_back(ratio.median);
  }
  if (ratios.empty()) return {};
  const auto [least, most] = std::minmax_element(ratios.begin(), ratios.end());
  const double median = median_of(ratios);
  return format_text(
      "in-network is %.2fx as fast as the ring in the median of %zu rows (%.2fx to "
      "%.2fx), %s",
      median, ratios.size(), *least, *most,
      wrong() != 0     ? "but results are wrong"
      : options_.check ? "0 wrong"
                       : "results not checked");
}

void Report::footer() const {
  if (!speaks_ || options_.quiet) return;
  bool titled = false;
  for (const Ratio& ratio : ratios_) {
    if (ratio.what != "plugin") continue;
    if (!titled) std::printf("# Plugin 1 against plugin 0, median of the rounds' time ratios\n");
    titled = true;
    std::printf("# %10zu %8s %6s %9s %7.3fx\n", ratio.bytes, ratio.type.c_str(), ratio.op.c_str(),
                ratio.algorithm.c_str(), ratio.median);
  }
  if (options_.check) {
    std::printf("# Out of bounds values : %llu %s\n", static_cast<unsigned long long>(wrong()),
                wrong() == 0 ? "OK" : "FAILED");
  }
  std::printf("# Avg bus bandwidth    : %.4f\n", average_bus_bandwidth());
  if (const std::string text = verdict(); !text.empty()) {
    std::printf("# Verdict: %s\n", text.c_str());
  }
}

Status Report::write_json() const {
  if (!speaks_ || options_.json.empty()) return {};
  nlohmann::ordered_json document;
  document["command"] = options_.command();
  document["ranks"] = facts_.ranks;
  document["plugins"] = facts_.plugins;
  document["iterations"] = options_.iterations;
  document["in_place"] = options_.in_place;
  document["checked"] = options_.check;
  document["wrong"] = wrong();
  document["average_busbw_GBps"] = average_bus_bandwidth();
  if (const std::string text = verdict(); !text.empty()) document["verdict"] = text;
  document["rows"] = nlohmann::ordered_json::array();
  for (const Row& row : rows_) {
    nlohmann::ordered_json entry{{"algo", row.algorithm},
                                 {"bytes", row.bytes},
                                 {"type", row.type},
                                 {"op", row.op},
                                 {"ranks", facts_.ranks},
                                 {"time_us", row.time_us},
                                 {"algbw_GBps", row.algorithm_bandwidth},
                                 {"busbw_GBps", row.bus_bandwidth},
                                 {"wrong", row.wrong},
                                 {"wire_bytes_per_rank", row.wire_bytes}};
    if (facts_.plugins.size() > 1) entry["plugin"] = row.plugin;
    document["rows"].push_back(std::move(entry));
  }
  document["ratios"] = nlohmann::ordered_json::array();
  for (const Ratio& ratio : ratios_) {
    document["ratios"].push_back({{"of", ratio.what},
                                  {"algo", ratio.algorithm},
                                  {"bytes", ratio.bytes},
                                  {"type", ratio.type},
                                  {"op", ratio.op},
                                  {"median", ratio.median}});
  }
  return write_document(options_.json, document);
}

}  // namespace sluice::perf
