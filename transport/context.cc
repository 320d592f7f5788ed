// SPDX-License-Identifier: Apache-2.0
#include "transport/endpoint.h"
#include "transport/liveness.h"

namespace sluice::transport {

Context::Context(Logger logger, Settings settings)
    : logger_(logger),
      settings_(settings),
      liveness_(std::make_unique<LivenessMonitor>(settings.peer_timeout)) {}

Context::~Context() = default;

}  // namespace sluice::transport
