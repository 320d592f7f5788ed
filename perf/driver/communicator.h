// SPDX-License-Identifier: Apache-2.0
// Communicator: one rank's use of one plugin, with NCCL's threads and NCCL's order of calls.
//
// The user's thread initialises and finalizes, the service thread connects and registers, the
// progress thread moves data. While a task runs, the bootstrap is watched: when a rank dies or
// gives up, the plugin gets a moment to find out by itself, then waiting loops are stopped.
// Thread rule: the public functions by one thread (the user's). Ownership: owns library, tables,
// threads.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "perf/driver/bootstrap.h"
#include "perf/driver/net_api.h"
#include "perf/driver/plugin_library.h"
#include "perf/driver/worker_thread.h"

namespace sluice::perf {

struct CommunicatorOptions {
  std::string plugin;    // file
  int version = 0;       // 0: the newest
  bool collnet = false;  // CollNet too
  Duration timeout = std::chrono::seconds(60);
  FaultPlan fault;
};

class Communicator {
 public:
  // All ranks call it and get the same verdict; `bootstrap` must outlive the communicator.
  static Result<std::unique_ptr<Communicator>> create(const CommunicatorOptions& options,
                                                      Bootstrap& bootstrap);
  ~Communicator();  // finalizes

  NetApi& net() { return *net_; }
  CollNetApi* collnet() { return collnet_.get(); }
  Bootstrap& bootstrap() { return bootstrap_; }
  Patience& patience() { return patience_; }
  int device() const { return 0; }
  const DeviceProperties& properties() const { return properties_; }
  const DeviceProperties& collnet_properties() const { return collnet_properties_; }
  std::string description() const;  // "SLUICE v12, device eth0"

  Status on_service(WorkerThread::Task task) { return run(service_, std::move(task)); }
  Status on_progress(WorkerThread::Task task) { return run(progress_, std::move(task)); }
  // A thread hangs inside the plugin: nothing can be closed, the process must end by _exit().
  bool hangs() const { return service_.hangs() || progress_.hangs(); }

 private:
  Communicator(PluginLibrary library, const CommunicatorOptions& options, Bootstrap& bootstrap);
  Status initialise(const CommunicatorOptions& options, uint64_t id);
  Status run(WorkerThread& thread, WorkerThread::Task task);
  void watch_others();

  PluginLibrary library_;  // first: everything below dies before it
  Bootstrap& bootstrap_;
  Patience patience_;
  std::unique_ptr<NetApi> net_;
  std::unique_ptr<CollNetApi> collnet_;
  bool net_ready_ = false;
  bool collnet_ready_ = false;
  DeviceProperties properties_;
  DeviceProperties collnet_properties_;
  std::optional<Error> other_failed_;
  Deadline stop_at_;
  WorkerThread service_{"service"};
  WorkerThread progress_{"progress"};
};

}  // namespace sluice::perf
