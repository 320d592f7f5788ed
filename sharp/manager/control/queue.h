// SPDX-License-Identifier: Apache-2.0
// The gate between other threads and the event loop: a bounded queue of work.
//
// Whoever gives up waiting leaves its work behind; it is not run then. Thread rule: run() from any
// thread, serve() and close() on the event loop's.
#pragma once

#include <deque>
#include <memory>
#include <mutex>

#include "sharp/manager/control/backend.h"

namespace sluice::manager {

class ControlQueue final : public ControlGate {
 public:
  // `wake` gets the event loop to call serve(); from any thread.
  explicit ControlQueue(std::function<void()> wake) : wake_(std::move(wake)) {}

  Status run(Work work) override;
  void serve(ControlBackend& backend);
  // Whoever waits is told no; so is whoever comes later.
  void close();

 private:
  struct Item;

  const std::function<void()> wake_;
  std::mutex mutex_;
  std::deque<std::shared_ptr<Item>> items_;
  bool closed_ = false;
};

}  // namespace sluice::manager
