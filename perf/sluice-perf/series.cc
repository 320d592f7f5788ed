// SPDX-License-Identifier: Apache-2.0
#include "perf/sluice-perf/series.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <tuple>

#include <nlohmann/json.hpp>

#include "perf/driver/descriptor.h"
#include "perf/driver/exit_code.h"
#include "perf/sluice-perf/json_file.h"
#include "perf/sluice-perf/plugins.h"

namespace sluice::perf {
namespace {

int run_one_job(const Options& options, int ranks) {
  JobOptions job;
  job.ranks = ranks;
  job.needs_node = options.in_network;
  job.node = options.node;
  job.tree = options.tree;
  job.manager = options.manager;
  job.faults = options.node_faults;
  job.restart_after = options.restart_after;
  job.timeout = options.timeout;
  job.verbose = options.verbose;
  return run_job(job, [&](Bootstrap& bootstrap, const JobSite& site) {
    if (options.p2p) return run_p2p(options, bootstrap, site);
    return options.node_faults.empty() ? run_collective(options, bootstrap, site)
                                       : run_survival(options, bootstrap, site);
  });
}

// Runs a job and takes its document, which it writes into memory of ours.
int run_for_document(Options options, int ranks, nlohmann::ordered_json& document) {
  const Descriptor memory(::memfd_create("sluice-perf rows", MFD_CLOEXEC));
  options.json = "/proc/self/fd/" + std::to_string(memory.get());
  const int code = run_one_job(options, ranks);
  std::ifstream stream(options.json);
  document = nlohmann::ordered_json::parse(stream, nullptr, false);
  return document.is_discarded() ? std::max(code, kExitFailed) : code;
}

using Key = std::tuple<size_t, std::string, std::string>;  // bytes, type, operator

// One line for each number of ranks and kind of row, ring beside in-network.
void print_times(const nlohmann::ordered_json& runs) {
  std::printf("#\n#%7s %12s %9s %6s %12s %14s %8s %8s\n", "ranks", "size (B)", "type", "redop",
              "ring (us)", "innetwork (us)", "ratio", "#wrong");
  for (const auto& run : runs) {
    std::map<Key, std::map<std::string, double>> times;
    std::map<Key, uint64_t> wrong;
    for (const auto& row : run.at("rows")) {
      const Key key{row.at("bytes"), row.at("type"), row.at("op")};
      times[key][row.at("algo")] = row.at("time_us");
      wrong[key] += row.at("wrong").get<uint64_t>();
    }
    for (const auto& [key, by_algorithm] : times) {
      const auto& of_algorithm = by_algorithm;  // clang 14 captures no structured binding
      const auto text_of = [&](const char* name) {
        const auto found = of_algorithm.find(name);
        return found == of_algorithm.end() ? std::string("-") : format_text("%.2f", found->second);
      };
      const bool both = of_algorithm.size() == 2;
      const double ratio = both ? of_algorithm.at("ring") / of_algorithm.at("innetwork") : 0;
      std::printf("%8d %12zu %9s %6s %12s %14s %8s %8llu\n", run.at("ranks").get<int>(),
                  std::get<0>(key), std::get<1>(key).c_str(), std::get<2>(key).c_str(),
                  text_of("ring").c_str(), text_of("innetwork").c_str(),
                  both ? format_text("%.2f", ratio).c_str() : "-",
                  static_cast<unsigned long long>(wrong[key]));
    }
  }
}

void print_totals(const nlohmann::ordered_json& runs) {
  std::printf("#\n#%7s %8s %8s\n", "ranks", "rows", "#wrong");
  for (const auto& run : runs) {
    std::printf("%8d %8zu %8llu\n", run.at("ranks").get<int>(), run.at("rows").size(),
                static_cast<unsigned long long>(run.at("wrong").get<uint64_t>()));
  }
}

int run_several(Options options) {
  options.quiet = options.latency;
  nlohmann::ordered_json runs = nlohmann::ordered_json::array();
  int gravest = kExitFine;
  for (const int ranks : options.rank_counts) {
    nlohmann::ordered_json document;
    const int code = run_for_document(options, ranks, document);
    gravest = std::max(gravest, code);
    if (!document.is_discarded()) runs.push_back(std::move(document));
    if (code > kExitWrong) break;
  }
  if (options.latency) {
    print_times(runs);
  } else if (!options.p2p) {
    print_totals(runs);
  }
  if (options.json.empty()) return gravest;
  const Status written = write_document(options.json, {{"runs", runs}});
  if (written) return gravest;
  std::fprintf(stderr, "sluice-perf: %s\n", written.error().message.c_str());
  return std::max(gravest, kExitFailed);
}

}  // namespace

int run_all_jobs(const Options& options) {
  if (options.exact) ::setenv("SLUICE_PRECISION", "exact", 1);
  if (options.rank_counts.size() > 1) return run_several(options);
  return run_one_job(options, options.rank_counts.empty() ? 0 : options.rank_counts.front());
}

}  // namespace sluice::perf
