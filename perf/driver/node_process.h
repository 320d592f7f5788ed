// SPDX-License-Identifier: Apache-2.0
// NodeProcess: an aggregation node (sluice-agg) of our own for as long as a benchmark runs.
//
// Thread rule: started by a process without other threads (it forks). Ownership: the destructor
// ends the node; if this process dies first, the kernel ends it.
#pragma once

#include <sys/types.h>

#include <string>
#include <utility>

#include "base/clock.h"
#include "base/result.h"
#include "perf/driver/descriptor.h"

namespace sluice::perf {

class NodeProcess {
 public:
  // Starts `program` on an ephemeral port of 127.0.0.1 and waits until it listens. What it says
  // goes to stderr at once when `verbose`, else its warnings do when it has ended.
  static Result<NodeProcess> start(const std::string& program, Duration timeout, bool verbose);

  NodeProcess(NodeProcess&& other) noexcept
      : pid_(std::exchange(other.pid_, -1)),
        owner_(other.owner_),
        log_(std::move(other.log_)),
        address_(std::move(other.address_)) {}
  NodeProcess& operator=(NodeProcess&&) = delete;
  ~NodeProcess();

  const std::string& address() const { return address_; }  // host:port, as SLUICE_AGG wants it

 private:
  NodeProcess(pid_t pid, pid_t owner, Descriptor log)
      : pid_(pid), owner_(owner), log_(std::move(log)) {}
  void print_log(bool warnings_only) const;

  pid_t pid_;
  pid_t owner_;     // forked ranks inherit this object, but not the duty
  Descriptor log_;  // anonymous memory that is the node's stderr
  std::string address_;
};

// The folder of the running program, with no slash at its end.
std::string program_folder();

}  // namespace sluice::perf
