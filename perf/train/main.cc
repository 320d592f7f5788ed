// SPDX-License-Identifier: Apache-2.0
// sluice-train: data-parallel training of a small network, every gradient reduced in the
// aggregation node through a plugin's exported CollNet table, compared with one process on the same
// batches.
#include <algorithm>
#include <cmath>
#include <cstdio>

#include <CLI/CLI.hpp>

#include "perf/driver/exit_code.h"
#include "perf/driver/job.h"
#include "perf/driver/kernels.h"
#include "perf/driver/node_process.h"
#include "perf/driver/test_data.h"
#include "perf/train/node_reducer.h"

namespace sluice::train {
namespace {

constexpr double kLeastAccuracy = 0.95;
// Nothing at all when the node adds in rank order; another order costs roundings that training
// carries on.
constexpr double kMostDifference = 1e-3;

struct TrainOptions {
  std::string data;
  std::string plugin;
  int version = 0;
  double timeout = 60;
  TrainingPlan plan;
  perf::JobOptions job;
};

void add_options(CLI::App& app, TrainOptions& options) {
  app.add_option("--data", options.data, "digits.csv.gz of python3-sklearn")->required();
  app.add_option("--ranks", options.job.ranks, "fork this many ranks; else found from the launcher")
      ->check(CLI::Range(1, perf::kMostRanks));
  app.add_option("--epochs", options.plan.epochs)
      ->capture_default_str()
      ->check(CLI::Range(1, 10000));
  app.add_option("--batch", options.plan.batch, "digits per step, over all ranks")
      ->capture_default_str()
      ->check(CLI::Range(1, 1 << 20));
  app.add_option("--seed", options.plan.seed)->capture_default_str();
  app.add_option("--plugin", options.plugin, "net plugin, default libnccl-net-sluice.so");
  app.add_option("--net-version", options.version, "API version of the tables, default the newest")
      ->check(CLI::Range(abi::kOldestVersion, abi::kNewestVersion));
  app.add_option("--node", options.job.node,
                 "sluice-agg to start when SLUICE_AGG is not set; none: do not");
  app.add_option("--timeout", options.timeout, "seconds without progress until a rank gives up")
      ->capture_default_str()
      ->check(CLI::Range(0.1, 1e6));
  app.add_flag("-v,--verbose", options.job.verbose, "show the plugin's informational lines");
}

void print_epoch(const EpochReport& report) {
  std::printf(
      "epoch %2d: loss %.4f, held-out accuracy %5.2f %%, %4.0f ms, %2.0f %% communication\n",
      report.epoch, report.loss, report.accuracy * 100, report.seconds * 1e3,
      report.communication / report.seconds * 100);
  std::fflush(stdout);
}

double largest_difference(std::span<const float> a, std::span<const float> b) {
  double largest = 0;
  for (size_t index = 0; index < a.size(); ++index) {
    const double difference =
        std::abs(static_cast<double>(a[index]) - static_cast<double>(b[index]));
    if (!(difference <= largest)) largest = difference;  // NaN stays
  }
  return largest;
}

const char* word(bool fine) {
  return fine ? "OK" : "FAILED";
}

// One rank, plugin open. The exit code.
class Rank {
 public:
  Rank(const TrainOptions& options, const Dataset& data, perf::Communicator& communicator)
      : options_(options),
        data_(data),
        communicator_(communicator),
        bootstrap_(communicator.bootstrap()),
        plan_(options.plan),
        network_(options.plan.seed) {
    plan_.rank = bootstrap_.rank();
    plan_.ranks = bootstrap_.size();
  }

  Result<int> run() {
    auto reducer = NodeReducer::connect(communicator_);
    if (!reducer) return fail(std::move(reducer).error());
    if (first()) print_head();
    auto accuracy = train(plan_, data_, network_, **reducer,
                          first() ? print_epoch : std::function<void(const EpochReport&)>());
    if (!accuracy) return fail(std::move(accuracy).error());
    if (first()) {
      std::printf("# Reduced in the node: %.1f MB per rank\n",
                  static_cast<double>((*reducer)->bytes_handed()) / 1e6);
    }
    return judge(*accuracy);
  }

 private:
  bool first() const { return bootstrap_.rank() == 0; }

  void print_head() const {
    std::string shape;
    for (const size_t size : Network::layer_sizes()) {
      shape += (shape.empty() ? "" : "-") + std::to_string(size);
    }
    std::printf(
        "# sluice-train: %d ranks, network %s (%zu weights), batch %zu, %zu digits to learn "
        "from, %zu held out\n# Plugin: %s, %s\n",
        plan_.ranks, shape.c_str(), Network::weight_count(), plan_.batch, data_.training.size(),
        data_.held_out.size(), options_.plugin.c_str(), communicator_.description().c_str());
  }

  Result<int> judge(double accuracy) {
    const std::span<const float> weights = network_.weights();
    const uint64_t hash = perf::hash_bytes(weights.data(), weights.size_bytes());
    auto hashes = bootstrap_.allgather(hash);
    if (!hashes) return fail(std::move(hashes).error());
    const bool same = std::all_of(hashes->begin(), hashes->end(),
                                  [&](uint64_t other) { return other == hashes->front(); });
    // The node's count must be what every rank counts by itself.
    const double counted = own_accuracy();
    const bool learned = counted >= kLeastAccuracy && counted == accuracy;
    bool equal = true;
    if (first()) {
      const double difference = difference_from_one_process();
      equal = difference <= kMostDifference;
      std::printf("# Held-out accuracy %.2f %%, at least %.0f %% asked for: %s\n", accuracy * 100,
                  kLeastAccuracy * 100, word(learned));
      std::printf("# Weights on all %d ranks have the same bits (hash %016llx): %s\n", plan_.ranks,
                  static_cast<unsigned long long>(hash), word(same));
      std::printf(
          "# Largest difference from one process on the same batches: %.2e, bound %.0e: %s\n",
          difference, kMostDifference, word(equal));
      std::printf("# Verdict: %s\n", word(learned && same && equal));
    }
    auto verdicts = bootstrap_.allgather(static_cast<uint8_t>(equal));
    if (!verdicts) return fail(std::move(verdicts).error());
    return learned && same && verdicts->front() != 0 ? perf::kExitFine : perf::kExitWrong;
  }

  double own_accuracy() {
    const auto correct =
        std::count_if(data_.held_out.begin(), data_.held_out.end(),
                      [&](const Digit& digit) { return network_.recognises(digit); });
    return static_cast<double>(correct) / static_cast<double>(data_.held_out.size());
  }

  double difference_from_one_process() const {
    TrainingPlan alone = plan_;
    alone.alone = true;
    Network network(alone.seed);
    LoneReducer reducer;
    static_cast<void>(train(alone, data_, network, reducer, {}));
    return largest_difference(network_.weights(), network.weights());
  }

  const TrainOptions& options_;
  const Dataset& data_;
  perf::Communicator& communicator_;
  perf::Bootstrap& bootstrap_;
  TrainingPlan plan_;
  Network network_;
};

int run_rank(const TrainOptions& options, const Dataset& data, perf::Bootstrap& bootstrap) {
  perf::CommunicatorOptions wanted;
  wanted.plugin = options.plugin;
  wanted.version = options.version;
  wanted.collnet = true;
  wanted.timeout = options.job.timeout;
  auto communicator = perf::Communicator::create(wanted, bootstrap);
  if (!communicator) {
    perf::report_failure("sluice-train", bootstrap, communicator.error());
    return perf::kExitUsage;
  }
  auto code = Rank(options, data, **communicator).run();
  if (code) return *code;
  std::fprintf(stderr, "rank %d: %s\n", bootstrap.rank(), code.error().message.c_str());
  bootstrap.abort("rank " + std::to_string(bootstrap.rank()) + " gave up: " + code.error().message);
  perf::leave_if_hanging(**communicator);
  return perf::kExitFailed;
}

int run(int argc, char** argv) {
  TrainOptions options;
  CLI::App app("Data-parallel training with gradients reduced in the network.", "sluice-train");
  app.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  add_options(app, options);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    std::printf("%s", app.help().c_str());
    return perf::kExitFine;
  } catch (const CLI::ParseError& error) {
    std::fprintf(stderr, "sluice-train: %s\n", error.what());
    return perf::kExitUsage;
  }
  if (options.plugin.empty()) {
    options.plugin = perf::program_folder() + "/../lib/libnccl-net-sluice.so";
  }
  options.job.program = "sluice-train";
  options.job.needs_node = true;
  options.job.timeout =
      std::chrono::duration_cast<Duration>(std::chrono::duration<double>(options.timeout));
  const auto data = read_digits(options.data, options.plan.seed);
  if (!data) {
    std::fprintf(stderr, "sluice-train: %s\n", data.error().message.c_str());
    return perf::kExitUsage;
  }
  return perf::run_job(options.job, [&](perf::Bootstrap& bootstrap, const perf::JobSite&) {
    return run_rank(options, *data, bootstrap);
  });
}

}  // namespace
}  // namespace sluice::train

// NOLINTNEXTLINE(bugprone-exception-escape): out of memory may well end a tool
int main(int argc, char** argv) {
  return sluice::train::run(argc, argv);
}
