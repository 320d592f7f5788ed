// SPDX-License-Identifier: Apache-2.0
#include "perf/driver/worker_thread.h"

#include <condition_variable>
#include <mutex>
#include <optional>

namespace sluice::perf {
namespace {

constexpr auto kTick = std::chrono::milliseconds(100);
// A call may legally last as long as the limit itself (CollNet's connect blocks); only then it
// hangs.
constexpr auto kHangGrace = std::chrono::seconds(5);

}  // namespace

struct WorkerThread::Shared {
  std::mutex mutex;
  std::condition_variable changed;
  Task task;
  std::optional<Status> result;
  bool ends = false;
};

WorkerThread::WorkerThread(std::string name)
    : name_(std::move(name)), shared_(std::make_shared<Shared>()), thread_(loop, shared_) {}

WorkerThread::~WorkerThread() {
  if (hangs_) {
    thread_.detach();
    return;
  }
  {
    const std::lock_guard lock(shared_->mutex);
    shared_->ends = true;
  }
  shared_->changed.notify_all();
  thread_.join();
}

void WorkerThread::loop(const std::shared_ptr<Shared>& shared) {
  std::unique_lock lock(shared->mutex);
  while (true) {
    shared->changed.wait(lock, [&] { return shared->ends || shared->task; });
    if (!shared->task) return;
    const Task task = std::exchange(shared->task, nullptr);
    lock.unlock();
    Status result = task();
    lock.lock();
    shared->result = std::move(result);
    shared->changed.notify_all();
  }
}

Status WorkerThread::run(Task task, const Patience& patience,
                         const std::function<void()>& on_tick) {
  if (hangs_) return fail(ErrorKind::timeout, "the " + name_ + " thread hangs in the plugin");
  std::unique_lock lock(shared_->mutex);
  shared_->result.reset();
  shared_->task = std::move(task);
  shared_->changed.notify_all();

  uint64_t heartbeat = patience.heartbeat();
  Deadline deadline = Deadline::after(patience.limit() + kHangGrace);
  while (!shared_->changed.wait_for(lock, kTick, [&] { return shared_->result.has_value(); })) {
    if (on_tick) {
      lock.unlock();
      on_tick();
      lock.lock();
    }
    const uint64_t now = patience.heartbeat();
    if (now != heartbeat) deadline = Deadline::after(patience.limit() + kHangGrace);
    heartbeat = now;
    if (!deadline.passed()) continue;
    hangs_ = true;
    return fail(ErrorKind::timeout,
                "a call into the plugin on the " + name_ + " thread does not return");
  }
  return std::move(*shared_->result);
}

}  // namespace sluice::perf
