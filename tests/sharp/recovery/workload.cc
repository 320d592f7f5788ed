// SPDX-License-Identifier: Apache-2.0
#include "tests/sharp/recovery/workload.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <deque>
#include <map>
#include <random>

#include "tests/sharp/vectors.h"

namespace sluice::sharp::testing {
namespace {

constexpr int kKinds = 7;
constexpr size_t kSmall = 200;    // elements: the latency class
constexpr size_t kLarge = 30000;  // many chunks
constexpr size_t kBlock = 5000;   // of a rank

// Values whose sum depends on the order and the brackets.
Bytes uneven_floats(size_t count, int rank) {
  std::mt19937 random(static_cast<uint32_t>(rank) + 99);
  std::vector<float> values(count);
  for (float& value : values) {
    const auto mantissa = static_cast<float>(random()) - 2147483648.0F;
    value = std::ldexp(mantissa, -static_cast<int>(random() % 8));
  }
  Bytes bytes(count * sizeof(float));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

int64_t now_ns() {
  return Clock::now().time_since_epoch().count();
}

}  // namespace

// One operation of one rank, its memory and what must come out.
struct Workload::Call {
  Call(int number, Rank& of, int count) : kind(number % kKinds), ranks(count), rank(of.rank) {}

  Result<Operation*> post(Client& client) {
    switch (kind) {
      case 0:
        return allreduce(client, DataType::int32, input_of(DataType::int32, kLarge, rank, 0),
                         false);
      case 1:
        return allreduce(client, DataType::float32, uneven_floats(kSmall, rank), true);
      case 2:
        return allgather(client);
      case 3:
        return allreduce(client, DataType::float32, uneven_floats(kLarge, rank), true);
      case 4:
        return reduce_scatter(client);
      case 5:
        return allreduce(client, DataType::int64, input_of(DataType::int64, kSmall / 2, rank, 5),
                         false);
      default:
        return allreduce(client, DataType::bfloat16, input_of(DataType::bfloat16, kLarge, rank, 6),
                         true);
    }
  }

  Result<Operation*> allreduce(Client& client, DataType type, Bytes data, bool in_place) {
    input = std::move(data);
    output.resize(in_place ? 0 : input.size());
    AllreduceArguments arguments;
    arguments.send = input.data();
    arguments.receive = in_place ? input.data() : output.data();
    arguments.count = input.size() / size_of(type);
    arguments.type = type;
    return client.allreduce(arguments);
  }
  Result<Operation*> allgather(Client& client) {
    input = input_of(DataType::int32, kBlock, rank, 7);
    output.resize(input.size() * static_cast<size_t>(ranks));
    part = {output.data(), output.size(), nullptr};
    AllgatherArguments arguments;
    arguments.send = input.data();
    arguments.bytes_per_rank = input.size();
    arguments.window_bytes = output.size();
    arguments.receive = {&part, 1};
    return client.allgather(arguments);
  }
  // In place.
  Result<Operation*> reduce_scatter(Client& client) {
    input = input_of(DataType::int32, kBlock * static_cast<size_t>(ranks), rank, 8);
    part = {input.data(), input.size(), nullptr};
    ReduceScatterArguments arguments;
    arguments.send = {&part, 1};
    arguments.bytes_per_rank = kBlock * sizeof(int32_t);
    arguments.receive = input.data() + arguments.bytes_per_rank * static_cast<size_t>(rank);
    arguments.window_bytes = input.size();
    arguments.type = DataType::int32;
    return client.reduce_scatter(arguments);
  }

  Bytes result() const {
    if (kind == 4) {
      const size_t block = kBlock * sizeof(int32_t);
      const auto from = input.begin() + static_cast<std::ptrdiff_t>(block) * rank;
      return {from, from + static_cast<std::ptrdiff_t>(block)};
    }
    return output.empty() ? input : output;
  }
  // Empty: known only from the first time.
  Bytes expected() const {
    switch (kind) {
      case 0:
        return expected_of(DataType::int32, ReduceOperator::sum, kLarge, ranks, 0);
      case 2: {
        Bytes all;
        for (int other = 0; other < ranks; ++other) {
          const Bytes block = input_of(DataType::int32, kBlock, other, 7);
          all.insert(all.end(), block.begin(), block.end());
        }
        return all;
      }
      case 4: {
        const Bytes all = expected_of(DataType::int32, ReduceOperator::sum,
                                      kBlock * static_cast<size_t>(ranks), ranks, 8);
        const auto block = static_cast<std::ptrdiff_t>(kBlock * sizeof(int32_t));
        return {all.begin() + block * rank, all.begin() + block * (rank + 1)};
      }
      case 5:
        return expected_of(DataType::int64, ReduceOperator::sum, kSmall / 2, ranks, 5);
      default:
        return {};
    }
  }

  const int kind;
  const int ranks;
  const int rank;
  Bytes input;
  Bytes output;
  Part part;
  Operation* operation = nullptr;
};

Workload::Workload(Cluster& cluster, int in_flight)
    : cluster_(cluster), in_flight_(in_flight), begun_(static_cast<size_t>(cluster.size())) {}

void Workload::start() {
  last_done_ = now_ns();
  for (int rank = 0; rank < cluster_.size(); ++rank) {
    threads_.emplace_back([this, rank] { run(cluster_[rank]); });
  }
}

void Workload::report(const std::string& what) {
  const std::lock_guard lock(mutex_);
  if (wrong_.empty()) wrong_ = what;
}

void Workload::run(Rank& rank) {
  if (const std::string wrong = run_calls(rank); !wrong.empty()) {
    report("rank " + std::to_string(rank.rank) + ": " + wrong);
  }
}

std::string Workload::run_calls(Rank& rank) {
  Client& client = **rank.client;
  std::atomic<int>& begun = begun_[static_cast<size_t>(rank.rank)];
  std::map<int, Bytes> known;
  std::deque<std::unique_ptr<Call>> calls;
  int number = 0;
  while (true) {
    const bool more = number < limit_.load();
    if (!more && calls.empty()) return {};
    if (more && calls.size() < static_cast<size_t>(in_flight_)) {
      begun = number;
      auto call = std::make_unique<Call>(number++, rank, cluster_.size());
      const auto posted = call->post(client);
      if (!posted) return posted.error().message;
      if (*posted == nullptr) return "too many in flight";
      call->operation = *posted;
      calls.push_back(std::move(call));
      continue;
    }
    Call& oldest = *calls.front();
    if (const Status status = wait_for(client, *oldest.operation); !status) {
      return "operation " + std::to_string(number - static_cast<int>(calls.size())) + ": " +
             status.error().message;
    }
    Bytes& expected = known[oldest.kind];
    if (expected.empty()) expected = oldest.expected();
    if (expected.empty()) expected = oldest.result();
    if (oldest.result() != expected) {
      return "wrong bytes in operation " + std::to_string(number - static_cast<int>(calls.size())) +
             " of kind " + std::to_string(oldest.kind);
    }
    // As a caller may: the memory is used for something else at once.
    std::fill(oldest.input.begin(), oldest.input.end(), std::byte{0xee});
    std::fill(oldest.output.begin(), oldest.output.end(), std::byte{0xee});
    calls.pop_front();
    if (rank.rank != 0) continue;
    const int64_t now = now_ns();
    longest_ = std::max(longest_.load(), now - last_done_.exchange(now));
    ++done_;
  }
}

std::string Workload::stop() {
  if (threads_.empty()) return {};
  int most = 0;
  for (const auto& each : begun_) most = std::max(most, each.load());
  limit_ = most + 4;
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
  const std::lock_guard lock(mutex_);
  return wrong_;
}

double Workload::longest_gap() {
  return static_cast<double>(longest_.exchange(0)) / 1e6;
}

}  // namespace sluice::sharp::testing
