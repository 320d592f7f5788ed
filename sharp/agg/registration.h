// SPDX-License-Identifier: Apache-2.0
// The node's side of the manager: registers, reports the groups, obeys.
//
// A guest in the node's loop. The manager may be away: what runs goes on, and new groups are taken
// as without one; when it is back the node registers again and reports. Thread rule: the node's.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "sharp/agg/server.h"
#include "sharp/management/link.h"
#include "sharp/wire/management.h"

namespace sluice::sharp {

struct RegistrationOptions {
  std::vector<transport::SocketAddress> managers;  // tried in turn; empty: there is none
  // Where the node stands and what it may do; limits and groups are the node's own.
  NodeRegister self;
};

class Registration final : public LoopGuest, private ManagementLink::Handler {
 public:
  Registration(const Logger& logger, const transport::Settings& settings,
               RegistrationOptions options);

  // Where the node listens, for a node that was not told which address to name. To be called once
  // it listens; until then nothing is sent.
  void set_listening(const transport::ListenerAddress& address);
  void on_tick(AggregationNode& node) override;

 private:
  using GroupKeys = std::vector<std::pair<GroupId, uint32_t>>;

  void on_manager_connected() override;
  Status on_manager_message(const Envelope& message) override;
  void on_manager_lost() override;
  Status on_registered(const NodeRegistered& answer);
  void obey(const NodeCommand& command);
  void introduce();
  void report();
  void log_trouble();

  Logger logger_;
  NodeRegister self_;
  ManagementLink link_;
  AggregationNode* node_ = nullptr;  // during on_tick() only
  bool listening_ = false;
  bool registered_ = false;
  bool told_ = false;  // that there is no manager
  Duration interval_ = std::chrono::seconds(5);
  TimePoint next_report_{};
  bool reported_draining_ = false;
  GroupKeys reported_;
};

}  // namespace sluice::sharp
