// SPDX-License-Identifier: Apache-2.0
// The control interface as the command line uses it. The only file of it that knows gRPC is
// client.cc. Calls block, in bounded time. Thread rule: any thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "sharp/manager/control/report.h"

namespace sluice::manager {

class ControlClient {
 public:
  // Does not connect yet.
  static std::unique_ptr<ControlClient> open(const std::string& address, Duration patience);
  virtual ~ControlClient() = default;

  virtual Result<StatusReport> status() = 0;
  virtual Result<std::vector<JobRow>> jobs() = 0;
  virtual Result<std::vector<TreeRow>> trees() = 0;
  virtual Result<std::vector<ReservationRow>> reservations() = 0;
  virtual Result<DrainOutcome> drain(const std::string& node, bool undo) = 0;
};

}  // namespace sluice::manager
