// SPDX-License-Identifier: Apache-2.0
// What sluice-perf does when a --fault hits a node or the manager: one operation after the other,
// every one checked on every rank, until the faults are over; then how long the gap was.
#include <algorithm>
#include <cstdio>
#include <numeric>

#include "perf/driver/collective_data.h"
#include "perf/driver/nccl_log.h"
#include "perf/sluice-perf/benchmark_run.h"
#include "perf/sluice-perf/contestants.h"
#include "perf/sluice-perf/survival.h"

namespace sluice::perf {
namespace {

// How long it goes on after the last fault or restart.
constexpr Duration kTail = std::chrono::seconds(4);

struct OperationNote {  // one rank's, exchanged
  double seconds;
  uint64_t wrong;
  uint64_t hash;
  uint64_t over;  // rank 0 has seen enough
};

class SurvivalBenchmark {
 public:
  SurvivalBenchmark(const Options& options, Bootstrap& bootstrap, const JobSite& site,
                    Communicators& communicators)
      : options_(options),
        bootstrap_(bootstrap),
        site_(site),
        communicators_(communicators),
        data_(options.collective, options.in_place, bootstrap.rank(), bootstrap.size(),
              options.most_bytes) {}

  Status run() {
    auto contestants = connect_contestants(options_, communicators_, data_);
    if (!contestants) return fail(std::move(contestants).error());
    contestants_ = std::move(*contestants);
    Contestant& one = contestants_.back();
    const TypeInfo& type = options_.types.front();
    const CollectiveCall call = data_.call_for(type.type, options_.operators.front().op,
                                               data_.count_for(options_.least_bytes, type.bytes));
    SLUICE_RETURN_IF_ERROR(
        bootstrap_.agree(one.algorithm->supports(call.collective, call.type, call.op)));
    if (bootstrap_.rank() == 0) {
      watch_log("in-network reduction");
      std::printf("# %s: ranks %d, %zu bytes, every operation checked\n", options_.command(),
                  bootstrap_.size(), call.count * type.bytes);
      std::fflush(stdout);
    }
    for (int index = 0; index < options_.warmups; ++index) {
      SLUICE_RETURN_IF_ERROR(operate(one, call, false));
    }
    site_.board->begin();
    while (!over_) SLUICE_RETURN_IF_ERROR(operate(one, call, true));
    if (bootstrap_.rank() != 0) return bootstrap_.agree({});
    SurvivalFacts facts{bootstrap_.size(),      call.count * type.bytes,
                        *site_.board->begun(),  wrong_,
                        std::move(operations_), take_watched_lines()};
    print_survival(options_, *site_.board, facts);
    return bootstrap_.agree(write_survival(options_, *site_.board, facts));
  }
  bool wrong() const { return wrong_ != 0; }

 private:
  Status operate(Contestant& one, const CollectiveCall& call, bool counts) {
    data_.spoil_output(call);
    data_.fill_input(call, ++seed_);
    double seconds = 0;
    const auto timed = [&]() -> Status {
      const TimePoint start = Clock::now();
      SLUICE_RETURN_IF_ERROR(one.algorithm->run(call));
      seconds = in_seconds(Clock::now() - start);
      return {};
    };
    SLUICE_RETURN_IF_ERROR(one.algorithm->communicator().on_progress(timed));
    const TimePoint end = Clock::now();
    const int roundings = roundings_of(*one.algorithm, call.op, options_, site_, bootstrap_.size());
    const OperationNote own{seconds, data_.count_wrong_output(call, seed_, roundings),
                            data_.hash_of_output(call), enough(end) ? 1u : 0u};
    auto all = bootstrap_.allgather(own);
    if (!all) return fail(std::move(all).error());
    double longest = 0;
    for (const OperationNote& note : *all) {
      longest = std::max(longest, note.seconds);
      wrong_ += note.wrong + (note.hash != all->front().hash ? 1 : 0);
    }
    if (counts) operations_.push_back({end, longest});
    over_ = counts && all->front().over != 0;
    return {};
  }

  bool enough(TimePoint now) const {
    const FaultBoard& board = *site_.board;
    if (!board.begun() || operations_.size() + 1 < static_cast<size_t>(options_.iterations)) {
      return false;
    }
    TimePoint last = *board.begun();
    for (size_t fault = 0; fault < options_.node_faults.size(); ++fault) {
      const auto event = options_.restart_after ? board.restart(fault) : board.strike(fault);
      if (!event) return false;
      last = std::max(last, *event);
    }
    return now > last + kTail;
  }

  const Options& options_;
  Bootstrap& bootstrap_;
  const JobSite& site_;
  Communicators& communicators_;
  CollectiveData data_;
  std::vector<Contestant> contestants_;  // after the memory: closed before it is freed
  std::vector<SurvivalOperation> operations_;
  uint64_t wrong_ = 0;
  uint64_t seed_ = 0;
  bool over_ = false;
};

}  // namespace

int run_survival(const Options& options, Bootstrap& bootstrap, const JobSite& site) {
  return run_benchmark<SurvivalBenchmark>(options, bootstrap, site);
}

}  // namespace sluice::perf
