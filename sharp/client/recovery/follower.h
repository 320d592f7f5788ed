// SPDX-License-Identifier: Apache-2.0
// What every rank does in a recovery, rank 0 included: leaves its tree, hosts a node if asked,
// joins the next tree, goes on. The orders are rank 0's (leader.h).
//
// Nothing blocks but the opening of a node and, at the end, that of hosts which are no longer
// needed (node_host.h: bounded). Thread rule: the council's thread; destroyed by whoever closes.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "sharp/client/node_host.h"
#include "sharp/client/node_joiner.h"
#include "sharp/client/recovery/hooks.h"
#include "sharp/wire/reform.h"
#include "transport/endpoint.h"

namespace sluice::sharp {

class Follower {
 public:
  // `context` and `group` outlive the follower. `hosts` may be null: this rank hosts nothing.
  // `bind`: the address of this rank that the others reach, port 0.
  Follower(transport::Context& context, RecoverableGroup& group,
           std::shared_ptr<NodeHostFactory> hosts, const transport::SocketAddress& bind,
           uint16_t rank);

  Standing on_pause(const Pause& pause);
  void on_prepare(const Prepare& prepare);
  Status on_resume(const Resume& resume);
  // Drives what is under way; an answer to Prepare when there is one.
  std::optional<Ready> progress();

  bool joining() const { return joiner_ != nullptr && !answered_; }
  // Off the old tree and not yet at home on a new one.
  bool unsettled() const { return between_trees_ || settling_; }
  // In a forked child: nothing of the parent's is ended.
  void abandon();

 private:
  std::string host_node();

  transport::Context& context_;
  RecoverableGroup& group_;
  const std::shared_ptr<NodeHostFactory> hosts_;
  const transport::SocketAddress bind_;
  const uint16_t rank_;
  std::unique_ptr<NodeHost> host_;                   // of the tree that is being entered
  std::vector<std::unique_ptr<NodeHost>> outdated_;  // of trees before
  std::unique_ptr<NodeJoiner> joiner_;
  GroupShape next_shape_;  // that joiner_ joins
  std::string unfit_;      // why the last Prepare cannot be followed
  bool answered_ = false;
  bool between_trees_ = false;
  bool settling_ = false;
};

}  // namespace sluice::sharp
