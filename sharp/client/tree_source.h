// SPDX-License-Identifier: Apache-2.0
// Where the tree of a group comes from: the configuration, or the manager. Asked by rank 0 only.
//
// Nothing blocks: request() starts, poll() is called until it answers. A source may hold a lease
// for as long as the group lives; destroying it gives the lease back. Thread rule: one thread at a
// time.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "sharp/client/tree.h"
#include "sharp/wire/group_id.h"
#include "sharp/wire/membership.h"
#include "transport/endpoint.h"

namespace sluice::sharp {

struct TreeRequest {
  GroupId group{};
  uint32_t epoch = 1;
  std::vector<std::string> hosts;  // address of each rank, without port; index: rank
  uint32_t chunk_bytes = 0;
  uint32_t window = 0;  // asked for
  int rail = 0;         // device index
  std::string job;
  std::string tenant;
  int priority = 0;
  std::vector<std::string> avoid;  // nodes that have just failed
};

struct TreeOffer {
  Tree tree;
  uint32_t window = 0;  // granted, at most the one asked for
  std::string token;    // for the nodes; may be empty
  std::string origin;   // "SLUICE_AGG", "manager 10.0.0.1:7600, lease 17": for texts
};

class TreeSource {
 public:
  virtual ~TreeSource() = default;

  // A new request ends the one before it, and the lease of the tree before it.
  virtual void request(const TreeRequest& request) = 0;
  // Nothing: not yet. An error is the answer no, as a sentence; a later request may have another.
  virtual Result<std::optional<TreeOffer>> poll() = 0;

  // The tree must be given up (preempted, drained): why. Empty: no.
  virtual std::string revoked() = 0;
  // Whether it is worth asking again for a group that has lost its tree: something has changed, or
  // enough time has passed.
  virtual bool worth_asking() = 0;
};

struct ClientSettings;

// As the settings say: the manager's, else those of SLUICE_AGG. `context` outlives the source.
std::unique_ptr<TreeSource> make_tree_source(transport::Context& context,
                                             const ClientSettings& settings);

}  // namespace sluice::sharp
