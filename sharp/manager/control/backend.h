// SPDX-License-Identifier: Apache-2.0
// What the control interface asks the manager, and the way into its event loop.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "sharp/manager/control/report.h"

namespace sluice::manager {

// Called on the thread of the event loop only.
class ControlBackend {
 public:
  virtual StatusReport status() = 0;
  virtual std::vector<JobRow> jobs() = 0;
  virtual std::vector<TreeRow> trees() = 0;
  virtual std::vector<ReservationRow> reservations() = 0;
  virtual Result<DrainOutcome> drain(const std::string& node, bool on) = 0;

 protected:
  ~ControlBackend() = default;
};

// Runs a piece of work in the event loop and waits for it, in bounded time. From any other thread.
class ControlGate {
 public:
  using Work = std::function<void(ControlBackend&)>;
  virtual Status run(Work work) = 0;

 protected:
  ~ControlGate() = default;
};

}  // namespace sluice::manager
