// SPDX-License-Identifier: Apache-2.0
// NodeProcess: a daemon of our own (sluice-agg, sluice-manager) for as long as a benchmark runs.
//
// Thread rule: started by a process without other threads (it forks). Ownership: the destructor
// ends the daemon; if this process dies first, the kernel ends it.
#pragma once

#include <sys/types.h>

#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "perf/driver/descriptor.h"

namespace sluice::perf {

struct NodeProgram {
  std::string file;
  std::vector<std::string> arguments;  // besides --listen and --port-file
  bool takes_name = false;             // the process's name follows the last of them
  Duration timeout = std::chrono::seconds(60);
  bool verbose = false;
};

class NodeProcess {
 public:
  // Starts the program on an ephemeral port of 127.0.0.1 and waits until it listens. What it says
  // goes to stderr at once when it is verbose, else its warnings do when it has ended. `name` is
  // for sentences.
  static Result<NodeProcess> start(const NodeProgram& program, const std::string& name);

  NodeProcess(NodeProcess&& other) noexcept
      : program_(std::move(other.program_)),
        name_(std::move(other.name_)),
        pid_(std::exchange(other.pid_, -1)),
        owner_(other.owner_),
        log_(std::move(other.log_)),
        address_(std::move(other.address_)) {}
  NodeProcess& operator=(NodeProcess&&) = delete;
  ~NodeProcess();

  const std::string& address() const { return address_; }  // host:port, as SLUICE_AGG wants it

  // For tests of what happens then. A daemon that was killed may be started again on its port.
  void signal(int number);
  Status restart();

 private:
  NodeProcess(NodeProgram program, std::string name);
  Status launch(const std::string& listen);
  bool end_if_dead();
  void print_log(bool warnings_only) const;

  NodeProgram program_;
  std::string name_;
  pid_t pid_ = -1;
  pid_t owner_;     // forked ranks inherit this object, but not the duty
  Descriptor log_;  // anonymous memory that is the daemon's stderr
  std::string address_;
};

// The folder of the running program, with no slash at its end.
std::string program_folder();

}  // namespace sluice::perf
