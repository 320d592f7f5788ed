// SPDX-License-Identifier: Apache-2.0
// WorkerThread: one of the two threads by which NCCL drives a plugin (service and progress).
//
// run() hands a task over and waits for its end while it watches the task's heartbeat: a task that
// hangs inside a plugin call is given up, its thread is left behind, and the process must end by
// _exit(). Thread rule: run() by one thread at a time. Ownership: the destructor joins, unless the
// thread hangs.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "base/result.h"
#include "perf/driver/patience.h"

namespace sluice::perf {

class WorkerThread {
 public:
  using Task = std::function<Status()>;

  explicit WorkerThread(std::string name);
  ~WorkerThread();
  WorkerThread(const WorkerThread&) = delete;
  WorkerThread& operator=(const WorkerThread&) = delete;

  // `on_tick` is called about ten times a second by the waiting thread.
  Status run(Task task, const Patience& patience, const std::function<void()>& on_tick = {});
  bool hangs() const { return hangs_; }

 private:
  struct Shared;
  static void loop(const std::shared_ptr<Shared>& shared);

  const std::string name_;
  std::shared_ptr<Shared> shared_;
  std::thread thread_;
  bool hangs_ = false;
};

}  // namespace sluice::perf
