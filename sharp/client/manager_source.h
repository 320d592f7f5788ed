// SPDX-License-Identifier: Apache-2.0
// Trees from the manager: asks, holds the lease, hears when a tree must be given up.
//
// Every call drives the connection a little; while a group lives, one should be made every second
// or so, or the lease is kept by the nodes' reports alone. The manager may be away at any time: a
// tree that was granted goes on, and the lease is named again when the manager is back. Thread
// rule: as TreeSource.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "sharp/client/tree_source.h"
#include "sharp/management/link.h"
#include "sharp/wire/management.h"
#include "transport/endpoint.h"

namespace sluice::sharp {

class ManagerSource final : public TreeSource, private ManagementLink::Handler {
 public:
  struct Options {
    std::vector<transport::SocketAddress> managers;  // tried in turn
    // From a request to the answer, whatever the managers do.
    Duration answer_time = std::chrono::seconds(10);
    bool exclusive = false;  // no other group on the nodes
  };

  // `context` lends its logger and settings.
  ManagerSource(const transport::Context& context, const Options& options);
  // Gives the lease back; does not wait for anybody.
  ~ManagerSource() override;

  void request(const TreeRequest& request) override;
  Result<std::optional<TreeOffer>> poll() override;
  std::string revoked() override;
  bool worth_asking() override;

 private:
  void on_manager_connected() override;
  Status on_manager_message(const Envelope& message) override;
  void on_manager_lost() override {}
  Status on_grant(const TreeGrant& grant);
  Status on_denial(const TreeDenied& denial);
  Status on_renewed(const Renewed& renewed);
  void drive();
  void renew();
  std::string lease_text() const;

  ManagementLink link_;
  const Options options_;
  TreeAsk ask_;
  bool asking_ = false;  // ask_ has no answer yet
  Deadline answer_due_;
  std::optional<Result<TreeOffer>> answer_;
  uint64_t lease_ = 0;
  uint32_t epoch_ = 0;  // of the tree that is held
  Duration lease_time_ = std::chrono::seconds(60);
  TimePoint next_renewal_{};
  TimePoint ask_again_{};  // not earlier, unless something became free
  std::string revoked_;
};

}  // namespace sluice::sharp
