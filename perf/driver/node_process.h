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

namespace sluice::perf {

class NodeProcess {
 public:
  // Starts `program` on an ephemeral port of 127.0.0.1 and waits until it listens.
  static Result<NodeProcess> start(const std::string& program, Duration timeout);

  NodeProcess(NodeProcess&& other) noexcept
      : pid_(std::exchange(other.pid_, -1)),
        owner_(other.owner_),
        address_(std::move(other.address_)) {}
  NodeProcess& operator=(NodeProcess&&) = delete;
  ~NodeProcess();

  const std::string& address() const { return address_; }  // host:port, as SLUICE_AGG wants it

 private:
  NodeProcess(pid_t pid, pid_t owner) : pid_(pid), owner_(owner) {}

  pid_t pid_;
  pid_t owner_;  // forked ranks inherit this object, but not the duty
  std::string address_;
};

// The folder of the running program, with no slash at its end.
std::string program_folder();

}  // namespace sluice::perf
