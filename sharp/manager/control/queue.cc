// SPDX-License-Identifier: Apache-2.0
#include "sharp/manager/control/queue.h"

#include <chrono>
#include <condition_variable>
#include <utility>

namespace sluice::manager {
namespace {

constexpr size_t kMostWaiting = 64;
constexpr auto kTimeToServe = std::chrono::seconds(5);

}  // namespace

struct ControlQueue::Item {
  enum class State { waiting, taken, done, refused };

  Work work;
  State state = State::waiting;  // guarded by the queue's mutex
  std::condition_variable changed;
};

Status ControlQueue::run(Work work) {
  const auto item = std::make_shared<Item>();
  item->work = std::move(work);
  std::unique_lock lock(mutex_);
  if (closed_) return fail(ErrorKind::refused, "the manager is ending");
  if (items_.size() >= kMostWaiting) {
    return fail(ErrorKind::refused, "the manager is busy: try again");
  }
  items_.push_back(item);
  wake_();
  item->changed.wait_for(lock, kTimeToServe, [&] { return item->state != Item::State::waiting; });
  if (item->state == Item::State::waiting) {
    std::erase(items_, item);
    return fail(ErrorKind::timeout, "the manager is busy: try again");
  }
  // What has begun is short, and uses what is the caller's.
  item->changed.wait(lock, [&] { return item->state != Item::State::taken; });
  if (item->state == Item::State::refused) return fail(ErrorKind::refused, "the manager is ending");
  return {};
}

void ControlQueue::serve(ControlBackend& backend) {
  std::unique_lock lock(mutex_);
  while (!items_.empty()) {
    const auto item = items_.front();
    items_.pop_front();
    item->state = Item::State::taken;
    lock.unlock();
    item->work(backend);
    lock.lock();
    item->state = Item::State::done;
    item->changed.notify_all();
  }
}

void ControlQueue::close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  for (const auto& item : items_) {
    item->state = Item::State::refused;
    item->changed.notify_all();
  }
  items_.clear();
}

}  // namespace sluice::manager
