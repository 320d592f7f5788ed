// SPDX-License-Identifier: Apache-2.0
// Connections being made. NCCL calls connect() again and again with the same handle until it is
// done; the attempt is found by the handle's content, because other hosts pass the same memory, a
// fresh copy for each connection, or a fresh copy for each call. An attempt is taken out while it
// is driven, so two threads never share one; two connections to one listener may then swap their
// attempts, which nobody can tell. Thread rule: any thread.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "transport/endpoint.h"

namespace sluice::plugin::net {

class PendingConnects {
 public:
  // nullptr: none is under way.
  std::unique_ptr<transport::Connector> take(int device, const transport::ListenerAddress& address);
  // Dropped when closed.
  void put(int device, const transport::ListenerAddress& address,
           std::unique_ptr<transport::Connector> connector);
  // Drops all; nothing is kept from here on.
  void close();

 private:
  struct Attempt {
    int device;
    transport::ListenerAddress address;
    std::unique_ptr<transport::Connector> connector;
  };
  std::mutex mutex_;
  std::vector<Attempt> attempts_;
  bool closed_ = false;
};

}  // namespace sluice::plugin::net
