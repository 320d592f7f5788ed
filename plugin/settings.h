// SPDX-License-Identifier: Apache-2.0
// From configuration to what transport and in-network client want to know. Pure; any thread.
#pragma once

#include <string>

#include "base/config.h"
#include "sharp/client/client.h"
#include "transport/endpoint.h"
#include "transport/lanes/lane.h"

namespace sluice::plugin {

// trafficClass as NCCL hands it to a communicator; -1: undefined.
transport::LaneDecision choose_lane(const Configuration& configuration, int traffic_class);

// What the kernel refuses is warned about and left out.
transport::Settings transport_settings(const Logger& logger, const Configuration& configuration,
                                       const transport::LaneDecision& lane);

// Refused when in-network reduction is off. The nodes of SLUICE_AGG are looked up here: start-up
// only, a name server may be asked. The scheduler's job id is read from the environment.
// Whether SHARP switches reduce, through NVIDIA's library.
bool uses_libsharp(const Configuration& configuration);
Result<sharp::ClientSettings> client_settings(const Configuration& configuration);

// "transport auto, 1 tcp stream, lane 1 (default)" for the communicator's log line.
std::string text_of(const transport::Settings& settings, const transport::LaneDecision& lane);

}  // namespace sluice::plugin
