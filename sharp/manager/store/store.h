// SPDX-License-Identifier: Apache-2.0
// The manager's memory over its own death: a mirror of the leases and drained nodes, and the
// journal that it is written to.
//
// What is put here is on the disk after commit(), which comes before anybody hears the answer. A
// disk that fails is said once and tried again; the manager goes on meanwhile. Thread rule: one
// thread.
#pragma once

#include <optional>
#include <string>

#include "base/clock.h"
#include "base/log.h"
#include "sharp/manager/store/records.h"

namespace sluice::manager {

class Store {
 public:
  // An empty name: nothing is kept. What was damaged is logged.
  static Result<Store> open(const Logger& logger, const std::string& name);

  const StoredState& state() const { return state_; }

  void put(StoredLease lease);
  void end(uint64_t lease);
  void drain(const std::string& node, bool draining);
  void commit(TimePoint now);

 private:
  explicit Store(const Logger& logger) : logger_(logger) {}
  void append(const Record& record);
  Status compact();

  Logger logger_;
  std::optional<Journal> journal_;
  StoredState state_;
  uint64_t compact_above_ = 0;  // bytes
  bool broken_ = false;         // the last write failed: to be written anew
  TimePoint retry_{};
};

}  // namespace sluice::manager
