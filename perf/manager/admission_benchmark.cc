// SPDX-License-Identifier: Apache-2.0
// sluice-manager-benchmark: admission decisions per second, in process, on one core.
//
// The fabric is a fat tree of three levels with a node at every switch, 1000 nodes and 20480 hosts,
// and 10000 jobs hold trees throughout: of 2, 4, 8 or 16 hosts, and once also of up to 64. The job
// mix is drawn once from a fixed seed. A decision is one call; items_per_second counts them.
// "nodes_per_tree" says how much was placed for it.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "sharp/manager/core/admission.h"

namespace sluice::manager {
namespace {

constexpr unsigned kPods = 16, kLeaves = 40, kSpines = 16, kCoresPerSpine = 6;  // per pod
constexpr unsigned kHostsPerLeaf = 32;
constexpr unsigned kNodes = 1000;
constexpr size_t kJobs = 10000;

std::string leaf_name(unsigned pod, unsigned leaf) {
  return "leaf" + std::to_string(pod) + "." + std::to_string(leaf);
}
std::string spine_name(unsigned pod, unsigned spine) {
  return "spine" + std::to_string(pod) + "." + std::to_string(spine);
}
std::string core_name(unsigned spine, unsigned core) {
  return "core" + std::to_string(spine) + "." + std::to_string(core);
}

FabricDescription fat_tree(const Amounts& capacity) {
  FabricDescription fabric;
  const auto add_node = [&](const std::string& at) {
    NodeDescription node;
    node.address = "node" + std::to_string(fabric.nodes.size()) + ":1";
    node.at = at;
    node.capacity = capacity;
    fabric.nodes.push_back(node);
  };
  for (unsigned spine = 0; spine < kSpines; ++spine) {
    for (unsigned core = 0; core < kCoresPerSpine; ++core) {
      fabric.switches.push_back({core_name(spine, core), {}});
      add_node(core_name(spine, core));
      for (unsigned pod = 0; pod < kPods; ++pod) {
        fabric.trunks.push_back({core_name(spine, core), spine_name(pod, spine)});
      }
    }
  }
  for (unsigned pod = 0; pod < kPods; ++pod) {
    for (unsigned spine = 0; spine < kSpines; ++spine) add_node(spine_name(pod, spine));
    for (unsigned leaf = 0; leaf < kLeaves; ++leaf) {
      add_node(leaf_name(pod, leaf));
      for (unsigned spine = 0; spine < kSpines; ++spine) {
        fabric.trunks.push_back({leaf_name(pod, leaf), spine_name(pod, spine)});
      }
      for (unsigned host = 0; host < kHostsPerLeaf; ++host) {
        const unsigned number = (pod * kLeaves + leaf) * kHostsPerLeaf + host;
        fabric.host_ports.push_back(
            {"host" + std::to_string(number), {}, 0, 0, leaf_name(pod, leaf), 0, true});
      }
    }
  }
  for (unsigned leaf = 0; fabric.nodes.size() < kNodes; ++leaf) add_node(leaf_name(0, leaf));
  return fabric;
}

// The manager with its jobs, and the requests that come and go.
class Site {
 public:
  Site(const Amounts& capacity, unsigned most_doublings) : most_doublings_(most_doublings) {
    // Stopping here is right: nothing can be measured.
    if (!fabric_.merge(fat_tree(capacity))) std::abort();
    admission_ = std::make_unique<Admission>(fabric_, AdmissionPolicy{});
    std::mt19937_64 random(7);
    for (size_t request = 0; request < 4 * kJobs; ++request) requests_.push_back(draw(random));
  }

  // Each of the requests in turn, with a fresh group.
  const Request& next_request() {
    Request& request = requests_[next_++ % requests_.size()];
    ++groups_;
    std::memcpy(request.group.data(), &groups_, sizeof(groups_));
    const uint64_t mixed = groups_ * 0x9e3779b97f4a7c15;
    std::memcpy(request.group.data() + 8, &mixed, sizeof(mixed));
    return request;
  }
  Admission& admission() { return *admission_; }

 private:
  // Mostly in one pod and on neighbouring leaves, as schedulers place them; one in four anywhere.
  Request draw(std::mt19937_64& random) {
    Request request;
    const unsigned hosts = 2u << (random() % most_doublings_);
    const unsigned per_leaf = std::min(hosts, 4u << (random() % 4));
    const bool anywhere = random() % 4 == 0;
    const unsigned start = static_cast<unsigned>(random() % (kPods * kLeaves));
    for (unsigned host = 0; host < hosts; ++host) {
      unsigned leaf = start + host / per_leaf;
      if (anywhere) leaf = start + (host / per_leaf) * (kLeaves + 3);
      const unsigned number = leaf % (kPods * kLeaves) * kHostsPerLeaf + host % per_leaf;
      request.members.push_back(HostId{number});
    }
    request.job = "job" + std::to_string(random() % 100000);
    request.tenant = admission_->tenant("tenant" + std::to_string(random() % 20));
    return request;
  }

  unsigned most_doublings_;
  Fabric fabric_;
  std::unique_ptr<Admission> admission_;
  std::vector<Request> requests_;
  size_t next_ = 0;
  uint64_t groups_ = 0;
};

constexpr unsigned kUsual = 4;  // 2 to 16 hosts: each host is in four groups on average
constexpr Amounts kRoomy{1000, uint64_t{64} << 30, 0};

void fill(Site& site, std::vector<LeaseId>& leases, benchmark::State& state) {
  while (leases.size() < kJobs) {
    const Decision decision = site.admission().admit(site.next_request(), TimePoint{});
    if (!decision.granted()) {
      const std::string why = site.admission().sentence(decision.denial);
      state.SkipWithError(why.c_str());
      return;
    }
    leases.push_back(decision.lease);
  }
}

// On its own so that a profiler can count it alone.
[[gnu::noinline]] void turn_over(Site& site, LeaseId& lease) {
  site.admission().release(lease);
  lease = site.admission().admit(site.next_request(), TimePoint{}).lease;
}

// A job leaves, another comes: two decisions.
void admit_and_release(benchmark::State& state) {
  Site site(kRoomy, static_cast<unsigned>(state.range(0)));
  std::vector<LeaseId> leases;
  fill(site, leases, state);
  std::mt19937_64 random(11);
  uint64_t nodes = 0, trees = 0;
  for (auto step : state) {
    LeaseId& lease = leases[random() % leases.size()];
    turn_over(site, lease);
    nodes += site.admission().find(lease)->holdings.size();
    ++trees;
  }
  state.SetItemsProcessed(static_cast<int64_t>(2 * state.iterations()));
  state.counters["nodes_per_tree"] = static_cast<double>(nodes) / static_cast<double>(trees);
}
BENCHMARK(admit_and_release)->ArgName("doublings")->Arg(kUsual)->Arg(6);

// Only the admissions are timed: what a release costs is not in it.
void admit_only(benchmark::State& state) {
  constexpr size_t kBatch = 500;
  Site site(kRoomy, kUsual);
  std::vector<LeaseId> leases;
  fill(site, leases, state);
  std::mt19937_64 random(13);
  for (auto step : state) {
    state.PauseTiming();
    for (size_t job = 0; job < kBatch; ++job) {
      std::swap(leases[random() % leases.size()], leases.back());
      site.admission().release(leases.back());
      leases.pop_back();
    }
    state.ResumeTiming();
    for (size_t job = 0; job < kBatch; ++job) {
      leases.push_back(site.admission().admit(site.next_request(), TimePoint{}).lease);
    }
  }
  state.SetItemsProcessed(static_cast<int64_t>(kBatch * state.iterations()));
}
BENCHMARK(admit_only);

// All nodes have given their last group: what is asked for is refused.
void deny(benchmark::State& state) {
  Site site({16, uint64_t{64} << 30, 0}, kUsual);
  size_t refused = 0;
  for (size_t job = 0; refused < 100 && job < 20 * kJobs; ++job) {
    refused = site.admission().admit(site.next_request(), TimePoint{}).granted() ? 0 : refused + 1;
  }
  uint64_t denials = 0;
  for (auto step : state) {
    const Decision decision = site.admission().admit(site.next_request(), TimePoint{});
    denials += decision.granted() ? 0 : 1;
    benchmark::DoNotOptimize(decision.denial.reason);
  }
  state.SetItemsProcessed(static_cast<int64_t>(state.iterations()));
  state.counters["denied"] = static_cast<double>(denials) / static_cast<double>(state.iterations());
  state.counters["jobs"] = static_cast<double>(site.admission().lease_count());
}
BENCHMARK(deny);

void renew(benchmark::State& state) {
  Site site(kRoomy, kUsual);
  std::vector<LeaseId> leases;
  fill(site, leases, state);
  std::mt19937_64 random(17);
  for (auto step : state) {
    benchmark::DoNotOptimize(site.admission().renew(leases[random() % leases.size()], TimePoint{}));
  }
  state.SetItemsProcessed(static_cast<int64_t>(state.iterations()));
}
BENCHMARK(renew);

// What the daemon adds to a refusal.
void denial_sentence(benchmark::State& state) {
  Site site({16, uint64_t{64} << 30, 0}, kUsual);
  Decision decision;
  for (size_t job = 0; job < 20 * kJobs; ++job) {
    decision = site.admission().admit(site.next_request(), TimePoint{});
    if (!decision.granted()) break;
  }
  for (auto step : state) {
    benchmark::DoNotOptimize(site.admission().sentence(decision.denial).size());
  }
}
BENCHMARK(denial_sentence);

// A link went down: distances and sites are computed anew.
void routes(benchmark::State& state) {
  Fabric fabric;
  if (!fabric.merge(fat_tree(kRoomy))) std::abort();
  for (auto step : state) {
    const Routes computed(fabric);
    benchmark::DoNotOptimize(computed.distance(SwitchId{0}, SwitchId{1}));
  }
}
BENCHMARK(routes)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace sluice::manager

BENCHMARK_MAIN();
