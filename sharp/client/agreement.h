// SPDX-License-Identifier: Apache-2.0
// What the ranks agree on before there is a client, and the time that each phase may take.
//
// Rank 0 coordinates (coordinator.h), the others take part (participant.h). Both answer with an
// Agreement, or with an Error that is the same sentence on every rank that rank 0 could tell.
#pragma once

#include <memory>
#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "sharp/client/client.h"
#include "sharp/client/node_joiner.h"
#include "sharp/wire/membership.h"
#include "sharp/wire/rendezvous.h"

namespace sluice::sharp {

struct Agreement {
  Plan plan;
  std::unique_ptr<NodeJoiner> joiner;  // has joined
};

// Time after the ranks have met: for reaching the node and joining, of which rank 0 tells the
// others.
Duration join_budget(Duration connect_timeout);
// When a rank gives up whatever happens: all phases and a margin for the decision's way.
Deadline hard_limit(Duration connect_timeout);

// Every sentence that rank 0 sends starts so.
std::string refusal(const std::string& reason);

// "gpu07, pid 4711"
std::string this_process();

uint32_t milliseconds(Duration duration);

}  // namespace sluice::sharp
