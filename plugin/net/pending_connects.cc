// SPDX-License-Identifier: Apache-2.0
#include "plugin/net/pending_connects.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace sluice::plugin::net {

std::unique_ptr<transport::Connector> PendingConnects::take(
    int device, const transport::ListenerAddress& address) {
  const std::lock_guard lock(mutex_);
  const auto found = std::ranges::find_if(attempts_, [&](const Attempt& attempt) {
    return attempt.device == device && std::memcmp(&attempt.address, &address, sizeof address) == 0;
  });
  if (found == attempts_.end()) return nullptr;
  auto connector = std::move(found->connector);
  attempts_.erase(found);
  return connector;
}

void PendingConnects::put(int device, const transport::ListenerAddress& address,
                          std::unique_ptr<transport::Connector> connector) {
  const std::lock_guard lock(mutex_);
  if (!closed_) attempts_.push_back({device, address, std::move(connector)});
}

void PendingConnects::close() {
  std::vector<Attempt> dropped;  // declared first: ends outside the lock
  const std::lock_guard lock(mutex_);
  closed_ = true;
  dropped.swap(attempts_);
}

}  // namespace sluice::plugin::net
