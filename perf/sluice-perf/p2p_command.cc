// SPDX-License-Identifier: Apache-2.0
// sluice-perf p2p: pairs of ranks (0 and 1, 2 and 3, ...): latency with one message in flight,
// bandwidth with up to eight.
#include <algorithm>
#include <cstring>

#include "perf/driver/exit_code.h"
#include "perf/driver/job.h"
#include "perf/driver/nccl_log.h"
#include "perf/driver/peer_link.h"
#include "perf/driver/test_data.h"
#include "perf/sluice-perf/benchmark_run.h"
#include "perf/sluice-perf/plugins.h"

namespace sluice::perf {
namespace {

constexpr size_t kWindow = 8;
constexpr size_t kMostMemory = size_t{256} << 20;  // of all slots of a direction

struct PingSample {
  double latency;
  double seconds;  // per message
  uint64_t bytes;
  uint64_t wrong;
};

// One rank's end of a pair over one plugin.
class PairEnd {
 public:
  static Result<std::unique_ptr<PairEnd>> connect(Communicator& communicator, size_t slot_bytes,
                                                  size_t slots, bool receive_hint) {
    const Bootstrap& bootstrap = communicator.bootstrap();
    const int partner = bootstrap.rank() ^ 1;
    const bool alone = partner >= bootstrap.size();
    auto link = PeerLink::connect(communicator, alone ? -1 : partner, alone ? -1 : partner);
    if (!link) return fail(std::move(link).error());
    std::unique_ptr<PairEnd> end(
        new PairEnd(std::move(*link), slot_bytes, alone ? 1 : slots, receive_hint));
    SLUICE_RETURN_IF_ERROR(
        communicator.bootstrap().agree(alone ? Status() : end->register_memory()));
    return end;
  }

  Communicator& communicator() { return link_.communicator(); }
  bool alone() const { return send_region_ == nullptr; }
  bool first() { return communicator().bootstrap().rank() % 2 == 0; }
  std::byte* send_slot(size_t index) { return sends_.data() + index % slots_ * slot_bytes_; }
  std::byte* receive_slot(size_t index) { return receives_.data() + index % slots_ * slot_bytes_; }
  size_t slots() const { return slots_; }

  // On the progress thread: so many messages each way, at most `window` in flight each way.
  Status exchange(size_t bytes, size_t sends, size_t receives, size_t window) {
    window = std::min(window, slots_);
    Patience& patience = communicator().patience();
    size_t sent = 0, send_done = 0, posted = 0, received = 0;
    while (send_done < sends || received < receives) {
      const size_t before = sent + send_done + posted + received;
      if (posted < receives && posted - received < window) {
        SLUICE_RETURN_IF_ERROR(post_receive(bytes, posted));
      }
      if (sent < sends && sent - send_done < window) SLUICE_RETURN_IF_ERROR(post_send(bytes, sent));
      if (received < posted) SLUICE_RETURN_IF_ERROR(test(receive_requests_, received));
      if (send_done < sent) SLUICE_RETURN_IF_ERROR(test(send_requests_, send_done));
      if (sent + send_done + posted + received != before) {
        patience.progress();
      } else {
        SLUICE_RETURN_IF_ERROR(patience.idle("between two ranks"));
      }
    }
    return {};
  }

  Status ping_pong(size_t bytes) {
    if (first()) return exchange(bytes, 1, 1, 1);
    SLUICE_RETURN_IF_ERROR(exchange(bytes, 0, 1, 1));
    return exchange(bytes, 1, 0, 1);
  }

 private:
  PairEnd(PeerLink link, size_t slot_bytes, size_t slots, bool receive_hint)
      : slot_bytes_(slot_bytes),
        slots_(slots),
        receive_hint_(receive_hint),
        sends_(slot_bytes * slots),
        receives_(slot_bytes * slots),
        link_(std::move(link)) {}

  Status register_memory() {
    const auto make = [&](void* comm, HostMemory& memory, std::unique_ptr<Registration>& to) {
      auto made = Registration::make(communicator(), communicator().net(), comm, memory.data(),
                                     memory.size());
      if (!made) return Status(fail(std::move(made).error()));
      to = std::make_unique<Registration>(std::move(*made));
      return Status();
    };
    SLUICE_RETURN_IF_ERROR(make(link_.send_comm(), sends_, send_region_));
    return make(link_.receive_comm(), receives_, receive_region_);
  }

  Status post_receive(size_t bytes, size_t& posted) {
    NetApi& net = communicator().net();
    void* data = receive_slot(posted);
    void* region = receive_region_->region();
    int tag = 0;
    void* const hint = reinterpret_cast<void*>(0x1);
    void* request = receive_hint_ && net.version() >= 9 ? hint : nullptr;
    const ncclResult_t result =
        net.irecv(link_.receive_comm(), 1, &data, &bytes, &tag, &region, &request);
    if (result != ncclSuccess) return fail(error_of(result, "irecv"));
    if (request == hint) return fail(ErrorKind::internal, "irecv left the request unwritten");
    if (request != nullptr) receive_requests_[posted++ % kWindow] = request;
    return {};
  }

  Status post_send(size_t bytes, size_t& sent) {
    void* request = nullptr;
    const ncclResult_t result = communicator().net().isend(
        link_.send_comm(), send_slot(sent), bytes, 0, send_region_->region(), &request);
    if (result != ncclSuccess) return fail(error_of(result, "isend"));
    if (request != nullptr) send_requests_[sent++ % kWindow] = request;
    return {};
  }

  Status test(const std::array<void*, kWindow>& requests, size_t& done_count) {
    int done = 0;
    int sizes[64] = {};
    const ncclResult_t result =
        communicator().net().test(requests[done_count % kWindow], &done, sizes);
    if (result != ncclSuccess) return fail(error_of(result, "test"));
    if (done != 0) ++done_count;
    return {};
  }

  size_t slot_bytes_;
  size_t slots_;
  bool receive_hint_;
  HostMemory sends_;  // in this order: regions are given back, comms closed, memory freed
  HostMemory receives_;
  PeerLink link_;
  std::unique_ptr<Registration> send_region_;
  std::unique_ptr<Registration> receive_region_;
  std::array<void*, kWindow> send_requests_{};
  std::array<void*, kWindow> receive_requests_{};
};

class P2pBenchmark {
 public:
  P2pBenchmark(const Options& options, Bootstrap& bootstrap, const JobSite&,
               Communicators& communicators)
      : options_(options),
        bootstrap_(bootstrap),
        communicators_(communicators),
        report_(options, facts_of(options, communicators), bootstrap.rank() == 0) {}

  Status run() {
    const size_t slots = std::clamp<size_t>(kMostMemory / options_.most_bytes, 1, kWindow);
    for (auto& communicator : communicators_) {
      auto end = PairEnd::connect(*communicator, options_.most_bytes, slots, options_.receive_hint);
      if (!end) return fail(std::move(end).error());
      ends_.push_back(std::move(*end));
    }
    report_.header();
    for (const size_t bytes : options_.sizes()) SLUICE_RETURN_IF_ERROR(measure(bytes));
    report_.footer();
    return bootstrap_.agree(report_.write_json());
  }
  bool wrong() const { return report_.wrong() != 0; }

 private:
  static constexpr int kRounds = 5;

  Status measure(size_t bytes) {
    const int rounds = ends_.size() > 1 ? std::min(kRounds, options_.iterations) : 1;
    const int iterations = (options_.iterations + rounds - 1) / rounds;
    std::vector<std::vector<double>> latencies(ends_.size());
    std::vector<std::vector<double>> times(ends_.size());
    std::vector<PingSample> last(ends_.size());
    for (int round = 0; round < rounds; ++round) {
      for (size_t index = 0; index < ends_.size(); ++index) {
        auto sample = measure_once(*ends_[index], bytes, iterations);
        if (!sample) return fail(std::move(sample).error());
        latencies[index].push_back(sample->latency);
        times[index].push_back(sample->seconds);
        last[index].wrong += sample->wrong;
        last[index].bytes = sample->bytes;
      }
    }
    for (size_t index = 0; index < ends_.size(); ++index) {
      Row row;
      row.algorithm = "p2p";
      row.plugin = index;
      row.bytes = row.count = bytes;
      row.type = "uint8";
      row.op = "none";
      row.time_us = median_of(latencies[index]) * 1e6;
      row.algorithm_bandwidth = static_cast<double>(bytes) / median_of(times[index]) / 1e9 *
                                (options_.bidirectional ? 2 : 1);
      row.bus_bandwidth = row.algorithm_bandwidth;
      row.checked = options_.check;
      row.wrong = last[index].wrong;
      row.wire_bytes = last[index].bytes;
      report_.add(row);
    }
    if (ends_.size() > 1) {
      report_.add(ratio("p2p latency", bytes, latencies));
      report_.add(ratio("p2p bandwidth", bytes, times));
    }
    return {};
  }

  static Ratio ratio(const char* what, size_t bytes, const std::vector<std::vector<double>>& of) {
    std::vector<double> ratios;
    for (size_t round = 0; round < of[0].size(); ++round) {
      ratios.push_back(of[0][round] / of[1][round]);
    }
    return Ratio{"plugin", what, bytes, "uint8", "none", median_of(std::move(ratios))};
  }

  // Mean latency and time per message over the pairs.
  Result<PingSample> measure_once(PairEnd& end, size_t bytes, int iterations) {
    PingSample own{};
    prepare(end, bytes);
    SLUICE_RETURN_IF_ERROR(bootstrap_.barrier());
    if (!end.alone()) {
      SLUICE_RETURN_IF_ERROR(end.communicator().on_progress(
          [&] { return run_pair(end, bytes, static_cast<size_t>(iterations), own); }));
      if (options_.check) own.wrong = wrong_bytes(end, bytes);
    }
    auto all = bootstrap_.allgather(own);
    if (!all) return fail(std::move(all).error());
    const int pairs = bootstrap_.size() / 2;
    PingSample mean{};
    for (int rank = 0; rank < 2 * pairs; ++rank) {
      const PingSample& sample = (*all)[static_cast<size_t>(rank)];
      mean.wrong += sample.wrong;
      if (rank % 2 != 0) continue;  // the first of a pair holds the clock
      mean.latency += sample.latency / pairs;
      mean.seconds += sample.seconds / pairs;
      mean.bytes += sample.bytes / static_cast<uint64_t>(pairs);
    }
    return mean;
  }

  Status run_pair(PairEnd& end, size_t bytes, size_t iterations, PingSample& own) {
    for (int index = 0; index <= options_.warmups; ++index) {
      SLUICE_RETURN_IF_ERROR(end.ping_pong(bytes));
    }
    const auto seconds_since = [](TimePoint start) {
      return std::chrono::duration<double>(Clock::now() - start).count();
    };
    TimePoint start = Clock::now();
    for (size_t index = 0; index < iterations; ++index)
      SLUICE_RETURN_IF_ERROR(end.ping_pong(bytes));
    own.latency = seconds_since(start) / static_cast<double>(iterations) / 2;

    const size_t messages = std::max(iterations, end.slots());
    const uint64_t handed = end.communicator().net().bytes_handed();
    const bool sends = end.first() || options_.bidirectional;
    const bool receives = !end.first() || options_.bidirectional;
    start = Clock::now();
    SLUICE_RETURN_IF_ERROR(
        end.exchange(bytes, sends ? messages : 0, receives ? messages : 0, kWindow));
    own.bytes = (end.communicator().net().bytes_handed() - handed) / messages;
    // The last bytes have arrived when the second rank says so.
    SLUICE_RETURN_IF_ERROR(end.first() ? end.exchange(1, 0, 1, 1) : end.exchange(1, 1, 0, 1));
    own.seconds = seconds_since(start) / static_cast<double>(messages);
    return {};
  }

  Pattern pattern() const { return Pattern{ncclUint8, ncclSum, 7}; }

  void prepare(PairEnd& end, size_t bytes) {
    if (end.alone() || !options_.check) return;
    for (size_t slot = 0; slot < end.slots(); ++slot) {
      fill(pattern(), bootstrap_.rank(), slot, bytes, end.send_slot(slot));
      std::memset(end.receive_slot(slot), 0xa5, bytes);
    }
  }

  uint64_t wrong_bytes(PairEnd& end, size_t bytes) {
    const bool all_slots = !end.first() || options_.bidirectional;
    HostMemory expected(bytes);
    uint64_t wrong = 0;
    for (size_t slot = 0; slot < (all_slots ? end.slots() : 1); ++slot) {
      fill(pattern(), bootstrap_.rank() ^ 1, slot, bytes, expected.data());
      const std::byte* got = end.receive_slot(slot);
      for (size_t index = 0; index < bytes; ++index) wrong += got[index] != expected.data()[index];
    }
    return wrong;
  }

  const Options& options_;
  Bootstrap& bootstrap_;
  Communicators& communicators_;
  Report report_;
  std::vector<std::unique_ptr<PairEnd>> ends_;
};

}  // namespace

int run_p2p(const Options& options, Bootstrap& bootstrap, const JobSite& site) {
  return run_benchmark<P2pBenchmark>(options, bootstrap, site);
}

}  // namespace sluice::perf
