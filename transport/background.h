// SPDX-License-Identifier: Apache-2.0
// The threads that work for the connections of a context, and how they end when the code goes away
// under open connections: the library is unloaded, or the process exits.
//
// Thread rule: any. After halt() nobody can be enlisted: enlist() says so.
#pragma once

#include <algorithm>
#include <mutex>
#include <vector>

namespace sluice::transport {

class BackgroundThread {
 public:
  virtual ~BackgroundThread() = default;
  // Ends the thread, for good; nothing else is ended or said.
  virtual void halt() = 0;
};

class BackgroundThreads {
 public:
  // False: everything has been halted, no thread may be started.
  bool enlist(BackgroundThread& thread) {
    const std::lock_guard lock(mutex_);
    if (halted_) return false;
    threads_.push_back(&thread);
    return true;
  }
  // Before the thread's object goes.
  void dismiss(BackgroundThread& thread) {
    const std::lock_guard lock(mutex_);
    threads_.erase(std::remove(threads_.begin(), threads_.end(), &thread), threads_.end());
  }
  void halt() {
    const std::lock_guard lock(mutex_);
    halted_ = true;
    for (BackgroundThread* each : threads_) each->halt();
  }

 private:
  std::mutex mutex_;
  bool halted_ = false;
  std::vector<BackgroundThread*> threads_;
};

}  // namespace sluice::transport
