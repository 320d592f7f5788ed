// SPDX-License-Identifier: Apache-2.0
// ListenComm: what listen() gives to NCCL, for net (a Listener) and CollNet (a Rendezvous).
//
// NCCL drops listens without closing them when a communicator fails, and may close one while
// another thread is in a call on it: plugin/library.h owns them, a call holds a share. Thread rule:
// mutex() serialises the calls that drive the listener.
#pragma once

#include <memory>
#include <mutex>
#include <utility>

#include "plugin/context.h"

namespace sluice::plugin {

class ListenComm {
 public:
  ListenComm(std::shared_ptr<CommunicatorContext> context, int device,
             std::unique_ptr<transport::Listener> listener)
      : context_(std::move(context)), device_(device), listener_(std::move(listener)) {}
  ListenComm(std::shared_ptr<CommunicatorContext> context, int device,
             std::unique_ptr<sharp::Rendezvous> rendezvous)
      : context_(std::move(context)), device_(device), rendezvous_(std::move(rendezvous)) {}

  const std::shared_ptr<CommunicatorContext>& context() const { return context_; }
  int device() const { return device_; }
  std::mutex& mutex() { return mutex_; }
  transport::Listener* listener() { return listener_.get(); }    // null for CollNet
  sharp::Rendezvous* rendezvous() { return rendezvous_.get(); }  // null for net
  // True the first time: a listener repeats its error on each call. With mutex() held.
  bool first_error() { return !std::exchange(error_seen_, true); }

 private:
  const std::shared_ptr<CommunicatorContext> context_;
  const int device_;
  std::mutex mutex_;
  std::unique_ptr<transport::Listener> listener_;
  std::unique_ptr<sharp::Rendezvous> rendezvous_;
  bool error_seen_ = false;
};

}  // namespace sluice::plugin
