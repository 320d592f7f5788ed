// SPDX-License-Identifier: Apache-2.0
// What the ranks agree on before there is a client, and the time that each phase may take.
//
// Rank 0 coordinates (coordinator.h), the others take part (participant.h). Both answer with an
// Agreement, or with an Error that is the same sentence on every rank that rank 0 could tell.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "sharp/client/client.h"
#include "sharp/client/node_joiner.h"
#include "sharp/client/tree_source.h"
#include "sharp/wire/membership.h"
#include "sharp/wire/rendezvous.h"

namespace sluice::sharp {

// A connection between rank 0 and another rank, and what came on it after the agreement.
struct KeptConnection {
  std::unique_ptr<transport::Connection> connection;  // null: this rank itself
  std::vector<Message> early;
};

struct Agreement {
  Plan plan;
  std::unique_ptr<NodeJoiner> joiner;  // has joined
  // The connections of the rendezvous, which outlive it: rank 0's to each rank, by rank (none at
  // 0); another rank's one, to rank 0.
  std::vector<KeptConnection> council;
  std::vector<std::string> hosts;  // who each rank is, for texts; at rank 0 only

  // At rank 0 only: where the tree came from, and may come from again.
  std::unique_ptr<TreeSource> source;
  TreeRequest request;
  TreeOffer offer;
};

// Time after the ranks have met: for reaching the node and joining, of which rank 0 tells the
// others.
Duration join_budget(Duration connect_timeout);
// The part of it in which a tree must be found.
Duration tree_budget(Duration connect_timeout);
// When a rank gives up whatever happens: all phases and a margin for the decision's way.
Deadline hard_limit(Duration connect_timeout);

// Whether this rank wants to go on without a tree, and can.
inline bool can_fall_back(const ClientSettings& settings) {
  return settings.fallback && settings.node_hosts != nullptr;
}

// Every sentence that rank 0 sends starts so.
std::string refusal(const std::string& reason);

// "gpu07, pid 4711"
std::string this_process();

uint32_t milliseconds(Duration duration);

}  // namespace sluice::sharp
