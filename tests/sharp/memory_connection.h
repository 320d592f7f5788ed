// SPDX-License-Identifier: Apache-2.0
// A pair of connections in one process without any medium: what one posts, the other's progress()
// delivers.
//
// The test rig of the protocol: deterministic, and as nasty as the transport's contract allows.
// Messages and announcements keep their order, but writes may be held back, swapped, corrupted, and
// a side may vanish. Thread rule: both ends on one thread.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "transport/endpoint.h"
#include "transport/transport.h"

namespace sluice::sharp::testing {

// What happens to what one side posts.
struct Mischief {
  // Delivers writes in random order, and only with this probability per call; 1: at once and in
  // order.
  double delivery = 1.0;
  uint32_t seed = 1;
  // May change the payload on its way; called for each write and each message with a body.
  std::function<void(std::span<std::byte> payload)> corrupt;
};

struct MemoryPair {
  std::unique_ptr<transport::Connection> first;
  std::unique_ptr<transport::Connection> second;
};

// `from_first` is what happens to what the first side posts.
MemoryPair make_memory_pair(const Mischief& from_first = {}, const Mischief& from_second = {});

// A connector that is there at once; null: refused.
class MemoryConnector final : public transport::Connector {
 public:
  explicit MemoryConnector(std::unique_ptr<transport::Connection> connection)
      : connection_(std::move(connection)) {}
  Result<std::unique_ptr<transport::Connection>> progress() override {
    if (connection_ == nullptr) return fail(ErrorKind::remote, "connection refused");
    return std::move(connection_);
  }

 private:
  std::unique_ptr<transport::Connection> connection_;
};

}  // namespace sluice::sharp::testing
