// SPDX-License-Identifier: Apache-2.0
// sluice-perf allreduce: times the contestants (plugins x algorithms) in turn and checks their
// results.
#include <algorithm>
#include <cstring>

#include "perf/driver/exit_code.h"
#include "perf/driver/in_network_allreduce.h"
#include "perf/driver/job.h"
#include "perf/driver/ring_allreduce.h"
#include "perf/driver/test_data.h"
#include "perf/sluice-perf/benchmark_run.h"
#include "perf/sluice-perf/plugins.h"

namespace sluice::perf {
namespace {

constexpr int kRounds = 5;  // per size when contestants take turns; -n is spread over them

struct Contestant {
  size_t plugin = 0;
  std::unique_ptr<Allreduce> algorithm;
};

struct TimeSample {  // one rank's, exchanged
  double seconds;
  uint64_t bytes;
};
struct Verdict {
  uint64_t wrong;
  uint64_t hash;
};

class AllreduceBenchmark {
 public:
  AllreduceBenchmark(const Options& options, Bootstrap& bootstrap, Communicators& communicators)
      : options_(options),
        bootstrap_(bootstrap),
        communicators_(communicators),
        report_(options, facts_of(options, communicators), bootstrap.rank() == 0),
        input_(options.most_bytes + 8),
        output_(options.in_place ? 1 : options.most_bytes + 8) {}

  Status run() {
    SLUICE_RETURN_IF_ERROR(connect());
    report_.header();
    for (const TypeInfo& type : options_.types) {
      for (const OperatorInfo& op : options_.operators) {
        SLUICE_RETURN_IF_ERROR(bootstrap_.agree(check_support(type, op)));
        for (const size_t bytes : options_.sizes()) {
          SLUICE_RETURN_IF_ERROR(measure(type, op, std::max<size_t>(bytes / type.bytes, 1)));
        }
      }
    }
    report_.footer();
    return bootstrap_.agree(report_.write_json());
  }
  bool wrong() const { return report_.wrong() != 0; }

 private:
  Status connect() {
    for (size_t plugin = 0; plugin < communicators_.size(); ++plugin) {
      Communicator& communicator = *communicators_[plugin];
      if (options_.ring) {
        auto ring = RingAllreduce::connect(communicator, options_.receive_hint);
        if (!ring) return fail(std::move(ring).error());
        contestants_.push_back({plugin, std::move(*ring)});
      }
      if (options_.in_network) {
        auto in_network = InNetworkAllreduce::connect(communicator);
        if (!in_network) return fail(std::move(in_network).error());
        contestants_.push_back({plugin, std::move(*in_network)});
      }
    }
    for (Contestant& one : contestants_) {
      SLUICE_RETURN_IF_ERROR(
          bootstrap_.agree(one.algorithm->prepare(input_.data(), output(), input_.size())));
    }
    return {};
  }

  std::byte* output() { return options_.in_place ? input_.data() : output_.data(); }

  Status check_support(const TypeInfo& type, const OperatorInfo& op) {
    for (Contestant& one : contestants_) {
      auto* in_network = dynamic_cast<InNetworkAllreduce*>(one.algorithm.get());
      if (in_network == nullptr) continue;
      SLUICE_RETURN_IF_ERROR(in_network->supports(type.type, op.op));
    }
    return {};
  }

  Status measure(const TypeInfo& type, const OperatorInfo& op, size_t count) {
    const Pattern pattern{type.type, op.op, 0};
    const AllreduceCall call{type.type, op.op, input_.data(), output(), count};
    fill(pattern, bootstrap_.rank(), 0, count, input_.data());
    for (Contestant& one : contestants_)
      SLUICE_RETURN_IF_ERROR(repeat(one, call, options_.warmups));

    const int rounds = contestants_.size() > 1 ? std::min(kRounds, options_.iterations) : 1;
    const int iterations = (options_.iterations + rounds - 1) / rounds;
    std::vector<std::vector<double>> times(contestants_.size());
    std::vector<uint64_t> bytes(contestants_.size());
    for (int round = 0; round < rounds; ++round) {
      for (size_t index = 0; index < contestants_.size(); ++index) {
        auto sample = time(contestants_[index], call, iterations);
        if (!sample) return fail(std::move(sample).error());
        times[index].push_back(sample->seconds);
        bytes[index] = sample->bytes;
      }
    }
    for (size_t index = 0; index < contestants_.size(); ++index) {
      Row row = row_of(contestants_[index], type, op, count);
      const double seconds = median_of(times[index]);
      row.time_us = seconds * 1e6;
      row.algorithm_bandwidth = static_cast<double>(row.bytes) / seconds / 1e9;
      row.bus_bandwidth = row.algorithm_bandwidth * 2 * (bootstrap_.size() - 1) / bootstrap_.size();
      row.wire_bytes = bytes[index];
      if (options_.check) SLUICE_RETURN_IF_ERROR(check(contestants_[index], call, row));
      report_.add(row);
    }
    add_ratios(type, op, count, times);
    return {};
  }

  Row row_of(const Contestant& one, const TypeInfo& type, const OperatorInfo& op, size_t count) {
    Row row;
    row.algorithm = one.algorithm->name();
    row.plugin = one.plugin;
    row.bytes = count * type.bytes;
    row.count = count;
    row.type = type.name;
    row.op = op.name;
    return row;
  }

  static Status repeat(Contestant& one, const AllreduceCall& call, int times) {
    return one.algorithm->communicator().on_progress([&]() -> Status {
      for (int index = 0; index < times; ++index) {
        SLUICE_RETURN_IF_ERROR(one.algorithm->run(call));
      }
      return {};
    });
  }

  // Mean over ranks of the time and the bytes of one operation.
  Result<TimeSample> time(Contestant& one, const AllreduceCall& call, int iterations) {
    SLUICE_RETURN_IF_ERROR(bootstrap_.barrier());
    TimeSample own{};
    const auto timed = [&]() -> Status {
      SLUICE_RETURN_IF_ERROR(one.algorithm->run(call));  // untimed: the ranks start together
      const uint64_t bytes = one.algorithm->bytes_handed();
      const TimePoint start = Clock::now();
      for (int index = 0; index < iterations; ++index) {
        SLUICE_RETURN_IF_ERROR(one.algorithm->run(call));
      }
      own.seconds = std::chrono::duration<double>(Clock::now() - start).count() / iterations;
      own.bytes = (one.algorithm->bytes_handed() - bytes) / static_cast<uint64_t>(iterations);
      return {};
    };
    SLUICE_RETURN_IF_ERROR(one.algorithm->communicator().on_progress(timed));
    auto all = bootstrap_.allgather(own);
    if (!all) return fail(std::move(all).error());
    TimeSample mean{};
    for (const TimeSample& sample : *all) {
      mean.seconds += sample.seconds / bootstrap_.size();
      mean.bytes += sample.bytes;
    }
    mean.bytes /= static_cast<uint64_t>(bootstrap_.size());
    return mean;
  }

  // One more operation on fresh inputs into an output that holds none of the answer.
  Status check(Contestant& one, const AllreduceCall& call, Row& row) {
    const Pattern pattern{call.type, call.op, ++seed_};
    fill(pattern, bootstrap_.rank(), 0, call.count, input_.data());
    if (!options_.in_place) std::memset(output(), 0xa5, row.bytes);
    SLUICE_RETURN_IF_ERROR(bootstrap_.barrier());
    SLUICE_RETURN_IF_ERROR(repeat(one, call, 1));
    const Verdict own{count_wrong(pattern, bootstrap_.size(), 0, call.count, output()),
                      hash_bytes(output(), row.bytes)};
    auto all = bootstrap_.allgather(own);
    if (!all) return fail(std::move(all).error());
    row.checked = true;
    for (const Verdict& verdict : *all) {
      row.wrong += verdict.wrong + (verdict.hash != all->front().hash ? 1 : 0);
    }
    return {};
  }

  void add_ratios(const TypeInfo& type, const OperatorInfo& op, size_t count,
                  const std::vector<std::vector<double>>& times) {
    const auto add = [&](const char* what, size_t first, size_t second) {
      std::vector<double> ratios;
      for (size_t round = 0; round < times[first].size(); ++round) {
        ratios.push_back(times[first][round] / times[second][round]);
      }
      report_.add(Ratio{what, contestants_[second].algorithm->name(), count * type.bytes, type.name,
                        op.name, median_of(std::move(ratios))});
    };
    for (size_t first = 0; first < contestants_.size(); ++first) {
      for (size_t second = first + 1; second < contestants_.size(); ++second) {
        const Contestant& one = contestants_[first];
        const Contestant& other = contestants_[second];
        const bool same_name = std::strcmp(one.algorithm->name(), other.algorithm->name()) == 0;
        if (one.plugin == other.plugin) add("algorithm", first, second);
        if (one.plugin != other.plugin && same_name) add("plugin", first, second);
      }
    }
  }

  const Options& options_;
  Bootstrap& bootstrap_;
  Communicators& communicators_;
  Report report_;
  HostMemory input_;
  HostMemory output_;
  std::vector<Contestant> contestants_;  // after the memory: closed before it is freed
  uint64_t seed_ = 0;
};

}  // namespace

int run_allreduce(const Options& options, Bootstrap& bootstrap) {
  return run_benchmark<AllreduceBenchmark>(options, bootstrap);
}

}  // namespace sluice::perf
