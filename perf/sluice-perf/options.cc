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
  std::string fault;
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
  app.add_option("--ranks", options.ranks, "fork this many ranks; else found from the launcher")
      ->check(CLI::Range(2, kMostRanks));
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
  app.add_option("--fault", raw.fault, "for tests, rank:stage:signal: the rank hits itself there");
}

void add_allreduce(CLI::App& app, Raw& raw, Options& options) {
  add_common(app, raw, options);
  app.add_option("--algo", raw.algorithm, "ring, innetwork or both")
      ->capture_default_str()
      ->check(CLI::IsMember({"ring", "innetwork", "both"}));
  app.add_option("-d,--datatype", raw.types, "element types, comma-separated, or all")
      ->capture_default_str();
  app.add_option("-o,--op", raw.operators, "sum, prod, max, min, comma-separated, or all")
      ->capture_default_str();
  app.add_flag("--in-place", options.in_place, "the output is the input's memory");
  app.add_option("--node", options.node,
                 "sluice-agg to start when SLUICE_AGG is not set; none: do not");
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
  if (!raw.fault.empty()) SLUICE_RETURN_IF_ERROR(take(FaultPlan::parse(raw.fault), options.fault));
  if (options.least_bytes == 0 || options.most_bytes < options.least_bytes) {
    return fail(ErrorKind::invalid_argument, "sizes must go from at least 1 byte upwards");
  }
  if (options.step_bytes == 0) return fail(ErrorKind::invalid_argument, "-i must not be 0");
  options.ring = raw.algorithm != "innetwork";
  options.in_network = raw.algorithm != "ring" && options.command == Options::Command::allreduce;
  options.check = raw.check != 0;
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
  CLI::App* allreduce =
      app.add_subcommand("allreduce", "allreduce by ring, in the network, or both");
  CLI::App* p2p = app.add_subcommand("p2p", "latency and bandwidth between pairs of ranks");
  add_allreduce(*allreduce, raw, options);
  add_common(*p2p, raw, options);
  p2p->add_flag("--bidirectional", options.bidirectional, "both ranks of a pair send");
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    const CLI::App* about = allreduce->parsed() ? allreduce : p2p->parsed() ? p2p : &app;
    return EndNow{kExitFine, about->help()};
  } catch (const CLI::ParseError& error) {
    return EndNow{kExitUsage, error.what()};
  }
  options.command = p2p->parsed() ? Options::Command::p2p : Options::Command::allreduce;
  const Status status = finish(raw, options);
  if (!status) return EndNow{kExitUsage, status.error().message};
  return options;
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
