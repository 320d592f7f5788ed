// SPDX-License-Identifier: Apache-2.0
// The nodes that are connected: who they are, which groups they run, what they are told.
//
// A node is known by its address; its connection comes and goes. One that is not connected is down
// for new trees; what runs on it is none of the manager's business until its clients ask. Thread
// rule: one thread.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "base/result.h"
#include "sharp/manager/core/admission.h"
#include "sharp/manager/daemon/outbox.h"
#include "sharp/manager/store/store.h"
#include "sharp/wire/management.h"

namespace sluice::manager {

// "10.0.0.2" of a peer's text "10.0.0.2:4711 (gpu07, pid 12)"; brackets of IPv6 stay.
std::string host_of_peer(std::string_view peer);

class NodeDesk {
 public:
  // A node as the control interface shows it.
  struct Station {
    PeerId peer = 0;  // 0: not connected
    std::string name;
    bool own_drain = false;  // by its own operator
    TimePoint reported{};
    std::map<GroupId, uint32_t> groups;  // that it runs: the oldest epoch, as the group counts
  };

  NodeDesk(const Logger& logger, Fabric& fabric, Store& store, Outbox& outbox, Duration report_time)
      : logger_(logger),
        fabric_(fabric),
        store_(store),
        outbox_(outbox),
        report_time_(report_time) {}

  // An error: the peer is told, and to be dismissed.
  Result<NodeId> on_register(PeerId peer, const std::string& peer_text,
                             const sharp::NodeRegister& message);
  // nullptr: the peer is no registered node.
  Station* station_of(PeerId peer, NodeId* node);
  // True: the node has begun to drain by itself.
  bool on_groups(Station& station, NodeId node, const sharp::NodeGroups& message, TimePoint now);
  void on_lost(PeerId peer, const std::string& reason);

  // By address or name. What was commanded holds over restarts of node and manager.
  Result<NodeId> drain(std::string_view node, bool on);
  bool drained(NodeId node) const;

  // One of the nodes still runs the group, in this epoch or an earlier one.
  bool runs(const std::vector<NodeId>& nodes, const GroupId& group, uint32_t epoch) const;
  // Any connected node does, in any epoch.
  bool runs_anywhere(const GroupId& group) const;
  void order_end(NodeId node, const GroupId& group, uint32_t epoch, const std::string& sentence);

  const Station* find(NodeId node) const;
  size_t connected() const { return nodes_of_peers_.size(); }

 private:
  void refresh_state(NodeId node);
  NodeId find_node(std::string_view address_or_name) const;

  Logger logger_;
  Fabric& fabric_;
  Store& store_;
  Outbox& outbox_;
  const Duration report_time_;
  std::unordered_map<uint32_t, Station> stations_;  // by NodeId::value
  std::unordered_map<PeerId, NodeId> nodes_of_peers_;
};

}  // namespace sluice::manager
