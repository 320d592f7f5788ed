// SPDX-License-Identifier: Apache-2.0
#include "perf/sluice-perf/options.h"

#include <charconv>

#include <CLI/CLI.hpp>

#include "perf/driver/exit_code.h"
#include "perf/driver/kernels.h"
#include "perf/driver/node_process.h"
#include "plugin/abi/nccl_types.h"

namespace sluice::perf {
namespace {

// What CLI11 fills in as text.
struct Raw {
  std::string algorithm = "ring";
  std::string least = "32M";
  std::string most;
  std::string step = "1M";
  std::string types = "float";
  std::string operators = "sum";
  std::vector<std::string> faults;
  std::string ranks;
  std::string tree;
  std::string precision = "compact";
  std::string restart_after;
  int check = 1;
  double timeout = 60;
};

void add_common(CLI::App& app, Raw& raw, Options& options) {
  app.add_option("-b,--minbytes", raw.least, "smallest size")->capture_default_str();
  app.add_option("-e,--maxbytes", raw.most, "largest size; the smallest when not given");
  app.add_option("-i,--stepbytes", raw.step, "added from size to size")->capture_default_str();
  app.add_option("-f,--stepfactor", options.step_factor, "instead: multiplied from size to size")
      ->check(CLI::Range(2, 1 << 20));
  app.add_option("-n,--iters", options.iterations, "timed operations per size")
      ->capture_default_str()
      ->check(CLI::Range(1, 1 << 30));
  app.add_option("-w,--warmup_iters", options.warmups, "operations before them")
      ->capture_default_str()
      ->check(CLI::Range(0, 1 << 30));
  app.add_option("-c,--check", raw.check, "0: do not check results")->capture_default_str();
  app.add_option("--ranks", raw.ranks,
                 "fork this many ranks, or one job after the other for several counts, "
                 "comma-separated; else found from the launcher");
  app.add_option("--plugin", options.plugin, "net plugin, default libnccl-net-sluice.so");
  app.add_option("--compare", options.compare, "second plugin, measured in turn with the first");
  app.add_option("--net-version", options.version, "API version of the tables, default the newest")
      ->check(CLI::Range(abi::kOldestVersion, abi::kNewestVersion));
  app.add_option("--json", options.json, "write the rows to this file");
  app.add_option("--timeout", raw.timeout, "seconds without progress until a rank gives up")
      ->capture_default_str()
      ->check(CLI::Range(0.1, 1e6));
  app.add_flag("--receive-hint", options.receive_hint,
               "pre-load receive requests with 0x1, as NCCL's LL protocols do (v9 and later)");
  app.add_flag("-v,--verbose", options.verbose, "show the plugin's informational lines");
  app.add_option("--fault", raw.faults,
                 "for tests, rank:stage:signal: the rank hits itself there; or target:time:signal: "
                 "root, leaf0, ..., manager is hit so long after the start")
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

void add_collective(CLI::App& app, Raw& raw, Options& options) {
  add_common(app, raw, options);
  app.add_option("--algo", raw.algorithm, "ring, innetwork or both")
      ->capture_default_str()
      ->check(CLI::IsMember({"ring", "innetwork", "both"}));
  app.add_option("-d,--datatype", raw.types, "element types, comma-separated, or all")
      ->capture_default_str();
  app.add_option("-o,--op", raw.operators,
                 "sum, prod, max, min, comma-separated, or all; nothing to an allgather")
      ->capture_default_str();
  app.add_flag("--in-place", options.in_place, "the output is the input's memory");
  app.add_option("--node", options.node,
                 "sluice-agg to start when SLUICE_AGG is not set; none: do not");
  app.add_option("--tree", raw.tree,
                 "start a tree of nodes, fan-outs from the root down: 2 is a root and two leaves");
  app.add_option("--precision", raw.precision, "of 16- and 8-bit floats in a tree: compact, exact")
      ->capture_default_str()
      ->check(CLI::IsMember({"compact", "exact"}));
  app.add_flag("--manager", options.manager,
               "start a sluice-manager that makes its trees of the nodes of --tree");
  app.add_option("--restart-after", raw.restart_after,
                 "start what a --fault has ended again, so long after it");
}

Result<std::vector<int>> parse_ranks(const std::string& text) {
  std::vector<int> counts;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at != end) {
    int count = 0;
    const auto [last, error] = std::from_chars(at, end, count);
    const bool separated = last == end || (*last == ',' && last + 1 != end);
    if (error != std::errc() || !separated || count < 2 || count > kMostRanks) {
      return fail(ErrorKind::invalid_argument,
                  format_text("--ranks %s: expected numbers from 2 to %d, comma-separated",
                              text.c_str(), kMostRanks));
    }
    counts.push_back(count);
    at = last == end ? end : last + 1;
  }
  return counts;
}

Status finish_faults(const Raw& raw, Options& options) {
  for (const std::string& text : raw.faults) {
    if (text.empty() || (text[0] >= '0' && text[0] <= '9')) {
      auto plan = FaultPlan::parse(text);
      if (!plan) return fail(std::move(plan).error());
      options.fault = *plan;
    } else {
      auto fault = parse_node_fault(text);
      if (!fault) return fail(std::move(fault).error());
      options.node_faults.push_back(*std::move(fault));
    }
  }
  if (options.node_faults.size() > FaultBoard::kMostFaults) {
    return fail(ErrorKind::invalid_argument,
                format_text("at most %zu faults of daemons", FaultBoard::kMostFaults));
  }
  if (!raw.restart_after.empty()) {
    auto after = parse_duration(raw.restart_after);
    if (!after) return fail(std::move(after).error());
    options.restart_after = *after;
  }
  return {};
}

// What was given by hand stays.
void preset_latency(Raw& raw) {
  raw.algorithm = "both";
  if (raw.least == "32M") raw.least = "8";
  if (raw.ranks.empty()) raw.ranks = "2,4,8,16,32";
}

Status finish(const Raw& raw, Options& options) {
  const auto take = [](auto&& result, auto& to) -> Status {
    if (!result) return fail(result.error());
    to = *result;
    return {};
  };
  SLUICE_RETURN_IF_ERROR(take(parse_bytes(raw.least), options.least_bytes));
  SLUICE_RETURN_IF_ERROR(
      take(parse_bytes(raw.most.empty() ? raw.least : raw.most), options.most_bytes));
  SLUICE_RETURN_IF_ERROR(take(parse_bytes(raw.step), options.step_bytes));
  SLUICE_RETURN_IF_ERROR(take(parse_types(raw.types), options.types));
  SLUICE_RETURN_IF_ERROR(take(parse_operators(raw.operators), options.operators));
  SLUICE_RETURN_IF_ERROR(take(parse_ranks(raw.ranks), options.rank_counts));
  SLUICE_RETURN_IF_ERROR(take(TreeShape::parse(raw.tree), options.tree));
  SLUICE_RETURN_IF_ERROR(finish_faults(raw, options));
  if (options.least_bytes == 0 || options.most_bytes < options.least_bytes) {
    return fail(ErrorKind::invalid_argument, "sizes must go from at least 1 byte upwards");
  }
  if (options.step_bytes == 0) return fail(ErrorKind::invalid_argument, "-i must not be 0");
  options.ring = raw.algorithm != "innetwork";
  options.in_network = raw.algorithm != "ring" && !options.p2p;
  options.exact = raw.precision == "exact";
  options.check = raw.check != 0;
  if (!options.node_faults.empty() && (!options.in_network || options.rank_counts.size() != 1)) {
    return fail(ErrorKind::invalid_argument,
                "a fault of a daemon needs --ranks and --algo innetwork");
  }
  options.timeout =
      std::chrono::duration_cast<Duration>(std::chrono::duration<double>(raw.timeout));
  if (options.plugin.empty()) {  // the build tree and an installation have the same shape
    options.plugin = program_folder() + "/../lib/libnccl-net-sluice.so";
  }
  return {};
}

}  // namespace

std::vector<size_t> Options::sizes() const {
  std::vector<size_t> sizes;
  for (size_t bytes = least_bytes; bytes <= most_bytes;) {
    sizes.push_back(bytes);
    bytes = step_factor != 0 ? bytes * step_factor : bytes + step_bytes;
  }
  return sizes;
}

std::variant<Options, EndNow> parse_options(int argc, const char* const* argv) {
  Options options;
  Raw raw;
  CLI::App app("Drives a NCCL net plugin through its exported tables, as NCCL would.",
               "sluice-perf");
  app.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  app.require_subcommand(1);
  for (const Collective collective :
       {Collective::allreduce, Collective::allgather, Collective::reduce_scatter}) {
    const std::string name = name_of(collective);
    CLI::App* command = app.add_subcommand(name, name + " by ring, in the network, or both");
    add_collective(*command, raw, options);
    command->callback([&options, collective] { options.collective = collective; });
    if (collective == Collective::allreduce) {
      command->add_flag("--latency", options.latency,
                        "8 bytes, both algorithms, a table over 2, 4, 8, 16 and 32 ranks");
    }
  }
  CLI::App* p2p = app.add_subcommand("p2p", "latency and bandwidth between pairs of ranks");
  add_common(*p2p, raw, options);
  p2p->add_flag("--bidirectional", options.bidirectional, "both ranks of a pair send");
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    const auto parsed = app.get_subcommands();
    return EndNow{kExitFine, parsed.empty() ? app.help() : parsed.front()->help()};
  } catch (const CLI::ParseError& error) {
    return EndNow{kExitUsage, error.what()};
  }
  options.p2p = p2p->parsed();
  if (options.latency) preset_latency(raw);
  const Status status = finish(raw, options);
  if (!status) return EndNow{kExitUsage, status.error().message};
  return options;
}

Result<Duration> parse_duration(const std::string& text) {
  long value = 0;
  const char* const end = text.data() + text.size();
  const auto [last, error] = std::from_chars(text.data(), end, value);
  const std::string unit(last, end);
  if (error == std::errc() && value >= 0 && value <= 1'000'000) {
    if (unit == "ms") return std::chrono::milliseconds(value);
    if (unit == "s") return std::chrono::seconds(value);
  }
  return fail(ErrorKind::invalid_argument,
              "time " + text + ": expected a number and ms or s, as in 500ms");
}

Result<NodeFault> parse_node_fault(const std::string& text) {
  const size_t first = text.find(':');
  const size_t second = first == text.npos ? text.npos : text.find(':', first + 1);
  NodeFault fault;
  if (second != text.npos) fault.signal = parse_signal(text.substr(second + 1));
  if (fault.signal == 0) {
    return fail(ErrorKind::invalid_argument,
                "--fault " + text +
                    ": expected rank:stage:signal, or root, leaf0, ... or manager, a time and a "
                    "signal, as in leaf0:2s:KILL");
  }
  auto after = parse_duration(text.substr(first + 1, second - first - 1));
  if (!after) return fail(std::move(after).error());
  fault.target = text.substr(0, first);
  fault.after = *after;
  return fault;
}

Result<size_t> parse_bytes(const std::string& text) {
  size_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [last, error] = std::from_chars(text.data(), end, value);
  int shift = 0;
  const char* unit = last;
  if (unit != end) {
    switch (*unit++) {
      case 'k':
      case 'K':
        shift = 10;
        break;
      case 'm':
      case 'M':
        shift = 20;
        break;
      case 'g':
      case 'G':
        shift = 30;
        break;
      default:
        shift = -1;
    }
  }
  if (unit != end && (*unit == 'b' || *unit == 'B')) ++unit;
  if (error != std::errc() || shift < 0 || unit != end || (value << shift >> shift) != value) {
    return fail(ErrorKind::invalid_argument,
                "size " + text + ": expected a number, or one with K, M or G");
  }
  return value << shift;
}

}  // namespace sluice::perf
