// SPDX-License-Identifier: Apache-2.0
// How fast the reduction kernels are, beside read-only sums over the same bytes: those of all
// inputs and of the output, once one after the other and once a little of each in turns. They and
// the kernel take turns, so that what else the machine does meets all; `ratio` is the median over
// the rounds, against the faster of the two sums.
//
//   sluice-kernel-benchmark --benchmark_filter='bfloat16/sum'
//
// Names: type / operator / inputs / where the data are. `in_cache`: all of it in half of the
// second-level cache. `out_of_cache`: several times the last-level cache.
#include <benchmark/benchmark.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "perf/kernels/read_sum.h"
#include "sharp/reduce/reduce.h"

namespace sluice::perf {
namespace {

using sharp::DataType;
using sharp::Form;
using sharp::ReduceInput;
using sharp::ReduceOperator;

constexpr size_t kPage = 4096;

size_t cache_size(int name, size_t otherwise) {
  const long size = ::sysconf(name);
  return size > 0 ? static_cast<size_t>(size) : otherwise;
}

// Memory for the largest benchmark, filled once; never given back.
class Arena {
 public:
  explicit Arena(size_t bytes) {
    void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (memory == MAP_FAILED) return;
    ::madvise(memory, bytes, MADV_HUGEPAGE);
    memory_ = {static_cast<std::byte*>(memory), bytes};
  }
  std::span<std::byte> memory() const { return memory_; }

  // Numbers near one, of both signs: no kernel meets subnormals or NaNs.
  void fill(DataType type, size_t bytes) {
    if (filled_type_ == type && filled_ >= bytes) return;
    std::mt19937_64 random(1);
    std::vector<std::byte> pattern(16 * kPage);
    for (size_t at = 0; at < pattern.size(); at += size_of(type)) {
      const float value =
          (random() % 2 != 0 ? 1.0f : -1.0f) * static_cast<float>(8 + random() % 8) / 8.0f;
      const ReduceInput input{&value, Form::partial};
      if (type == DataType::float32 || type == DataType::float64) {
        const double wide = value;
        if (type == DataType::float32) std::memcpy(&pattern[at], &value, sizeof value);
        if (type == DataType::float64) std::memcpy(&pattern[at], &wide, sizeof wide);
      } else if (size_of(type, Form::partial) != size_of(type)) {
        reduce(type, ReduceOperator::sum, &pattern[at], Form::element, {&input, 1}, 1);
      } else {
        const uint64_t bits = random();
        std::memcpy(&pattern[at], &bits, size_of(type));
      }
    }
    for (size_t at = 0; at < bytes; at += pattern.size()) {
      std::memcpy(&memory_[at], pattern.data(), std::min(pattern.size(), bytes - at));
    }
    filled_type_ = type;
    filled_ = bytes;
  }

 private:
  std::span<std::byte> memory_;
  DataType filled_type_ = DataType::int8;
  size_t filled_ = 0;
};

struct Setup {
  DataType type;
  ReduceOperator reduce_operator;
  size_t inputs;
  size_t bytes;  // of all inputs and the output
};

// Of this thread: who shares the core does not count.
double cpu_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

class Times {
 public:
  template <typename Function>
  void add(Function function) {
    const double start = cpu_seconds();
    function();
    seconds_.push_back(cpu_seconds() - start);
  }
  double last() const { return seconds_.back(); }
  double median() const { return median_of(seconds_); }
  double median_over(const Times& other) const {
    std::vector<double> ratios;
    for (size_t at = 0; at < seconds_.size(); ++at) {
      ratios.push_back(seconds_[at] / other.seconds_[at]);
    }
    return median_of(ratios);
  }

 private:
  static double median_of(std::vector<double> values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
  }
  std::vector<double> seconds_;
};

void run(benchmark::State& state, const Setup& setup, Arena& arena) {
  const size_t size = setup.bytes / (setup.inputs + 1) / kPage * kPage;
  const size_t total = size * (setup.inputs + 1);
  if (arena.memory().size() < total) return state.SkipWithError("not enough memory");
  arena.fill(setup.type, total);
  std::byte* out = arena.memory().data();
  std::vector<ReduceInput> inputs;
  for (size_t at = 1; at <= setup.inputs; ++at) inputs.push_back({out + at * size, Form::element});

  Times reduced, one_by_one, in_turns;
  uint64_t sum = 0;
  for (auto _ : state) {
    reduced.add([&] {
      reduce(setup.type, setup.reduce_operator, out, Form::element, inputs,
             size / size_of(setup.type));
    });
    one_by_one.add([&] { sum += read_sum(out, size, setup.inputs + 1); });
    in_turns.add([&] { sum += read_sum_in_turns(out, size, setup.inputs + 1); });
    state.SetIterationTime(reduced.last());
  }
  benchmark::DoNotOptimize(sum);
  const Times& read = one_by_one.median() < in_turns.median() ? one_by_one : in_turns;
  const double gigabytes = static_cast<double>(total) / 1e9;
  state.counters["GB/s"] = gigabytes / reduced.median();
  state.counters["read_GB/s"] = gigabytes / read.median();
  state.counters["ratio"] = read.median_over(reduced);
}

void register_all(Arena& arena, size_t in_cache, size_t out_of_cache) {
  for (int type = 0; type < sharp::kDataTypes; ++type) {
    for (int operation = 0; operation < sharp::kReduceOperators; ++operation) {
      for (const size_t inputs : {2u, 4u, 8u, 16u}) {
        for (const bool cached : {true, false}) {
          const Setup setup{static_cast<DataType>(type), static_cast<ReduceOperator>(operation),
                            inputs, cached ? in_cache : out_of_cache};
          const std::string name = std::string(name_of(setup.type)) + "/" +
                                   name_of(setup.reduce_operator) + "/" + std::to_string(inputs) +
                                   (cached ? "/in_cache" : "/out_of_cache");
          benchmark::RegisterBenchmark(
              name.c_str(), [setup, &arena](benchmark::State& state) { run(state, setup, arena); })
              ->UseManualTime()
              ->Iterations(cached ? 500 : 3)
              ->Unit(benchmark::kMicrosecond);
        }
      }
    }
  }
}

}  // namespace
}  // namespace sluice::perf

int main(int argc, char** argv) {
  using sluice::perf::cache_size;
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  const size_t in_cache = cache_size(_SC_LEVEL2_CACHE_SIZE, size_t{1} << 20) / 2;
  const size_t out_of_cache = 3 * cache_size(_SC_LEVEL3_CACHE_SIZE, size_t{64} << 20);
  sluice::perf::Arena arena(out_of_cache);
  sluice::perf::register_all(arena, in_cache, out_of_cache);
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
