// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "transport/endpoint.h"
#include "transport/liveness.h"

namespace sluice::transport {

Context::Context(Logger logger, Settings settings)
    : logger_(logger),
      settings_(std::move(settings)),
      liveness_(std::make_unique<LivenessMonitor>(settings_.peer_timeout)) {}

Context::~Context() = default;

void Context::halt() {
  background_.halt();
  liveness_->halt();
}

}  // namespace sluice::transport
