// SPDX-License-Identifier: Apache-2.0
// sluice-perf allreduce, allgather, reducescatter: times the contestants (plugins x algorithms) in
// turn and checks their results.
#include <algorithm>
#include <cstring>

#include "perf/driver/collective_data.h"
#include "perf/sluice-perf/benchmark_run.h"
#include "perf/sluice-perf/contestants.h"

namespace sluice::perf {
namespace {

constexpr int kRounds = 5;  // per size when contestants take turns; -n is spread over them

struct TimeSample {  // one rank's, exchanged
  double seconds;
  uint64_t bytes;
};
struct Verdict {
  uint64_t wrong;
  uint64_t hash;
};

class CollectiveBenchmark {
 public:
  CollectiveBenchmark(const Options& options, Bootstrap& bootstrap, const JobSite& site,
                      Communicators& communicators)
      : options_(options),
        bootstrap_(bootstrap),
        site_(site),
        communicators_(communicators),
        report_(options, facts_of(options, communicators), bootstrap.rank() == 0),
        data_(options.collective, options.in_place, bootstrap.rank(), bootstrap.size(),
              options.most_bytes) {}

  Status run() {
    auto contestants = connect_contestants(options_, communicators_, data_);
    if (!contestants) return fail(std::move(contestants).error());
    contestants_ = std::move(*contestants);
    report_.header();
    for (const TypeInfo& type : options_.types) {
      for (const OperatorInfo& op : operators()) {
        for (Contestant& one : contestants_) {
          SLUICE_RETURN_IF_ERROR(
              bootstrap_.agree(one.algorithm->supports(options_.collective, type.type, op.op)));
        }
        for (const size_t bytes : options_.sizes()) {
          SLUICE_RETURN_IF_ERROR(measure(type, op, data_.count_for(bytes, type.bytes)));
        }
      }
    }
    report_.footer();
    return bootstrap_.agree(report_.write_json());
  }
  bool wrong() const { return report_.wrong() != 0; }

 private:
  std::span<const OperatorInfo> operators() const {
    const std::span<const OperatorInfo> all = options_.operators;
    return options_.collective == Collective::allgather ? all.first(1) : all;
  }
  const char* name_of_operator(const OperatorInfo& op) const {
    return options_.collective == Collective::allgather ? "none" : op.name;
  }
  // nccl-tests' factors.
  double bus_factor() const {
    const double ranks = bootstrap_.size();
    return (options_.collective == Collective::allreduce ? 2 : 1) * (ranks - 1) / ranks;
  }

  Status measure(const TypeInfo& type, const OperatorInfo& op, size_t count) {
    const CollectiveCall call = data_.call_for(type.type, op.op, count);
    data_.fill_input(call, 0);
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
      row.bus_bandwidth = row.algorithm_bandwidth * bus_factor();
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
    row.op = name_of_operator(op);
    return row;
  }

  static Status repeat(Contestant& one, const CollectiveCall& call, int times) {
    return one.algorithm->communicator().on_progress([&]() -> Status {
      for (int index = 0; index < times; ++index) {
        SLUICE_RETURN_IF_ERROR(one.algorithm->run(call));
      }
      return {};
    });
  }

  // Mean over ranks of the time and the bytes of one operation.
  Result<TimeSample> time(Contestant& one, const CollectiveCall& call, int iterations) {
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
  Status check(Contestant& one, const CollectiveCall& call, Row& row) {
    data_.spoil_output(call);
    data_.fill_input(call, ++seed_);
    SLUICE_RETURN_IF_ERROR(bootstrap_.barrier());
    SLUICE_RETURN_IF_ERROR(repeat(one, call, 1));
    const int roundings = roundings_of(*one.algorithm, call.op, options_, site_, bootstrap_.size());
    const Verdict own{data_.count_wrong_output(call, seed_, roundings), data_.hash_of_output(call)};
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
                        name_of_operator(op), median_of(std::move(ratios))});
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
  const JobSite& site_;
  Communicators& communicators_;
  Report report_;
  CollectiveData data_;
  std::vector<Contestant> contestants_;  // after the memory: closed before it is freed
  uint64_t seed_ = 0;
};

}  // namespace

int run_collective(const Options& options, Bootstrap& bootstrap, const JobSite& site) {
  return run_benchmark<CollectiveBenchmark>(options, bootstrap, site);
}

}  // namespace sluice::perf
