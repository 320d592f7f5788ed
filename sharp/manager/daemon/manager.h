// SPDX-License-Identifier: Apache-2.0
// The manager without its connections: gives each message to the desk it belongs to.
//
// Thread rule: one thread. Time is passed in.
#pragma once

#include <string>
#include <unordered_set>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "base/result.h"
#include "sharp/manager/control/backend.h"
#include "sharp/manager/core/admission.h"
#include "sharp/manager/daemon/client_desk.h"
#include "sharp/manager/daemon/node_desk.h"
#include "sharp/manager/daemon/outbox.h"
#include "sharp/manager/store/store.h"

namespace sluice::manager {

struct ManagerSettings {
  AdmissionPolicy policy;
  std::string state_file;  // empty: none
  std::string address;     // where it listens: for status()
};

class Manager final : public ControlBackend {
 public:
  // `outbox` outlives the manager. What the store remembers is taken up.
  Manager(const Logger& logger, ManagerSettings settings, Fabric fabric, Store store,
          Outbox& outbox, TimePoint now);
  Manager(const Manager&) = delete;
  Manager& operator=(const Manager&) = delete;

  // An error ends the peer's connection.
  Status on_message(PeerId peer, const std::string& peer_text, const sharp::Envelope& message,
                    TimePoint now);
  void on_lost(PeerId peer, const std::string& reason, TimePoint now);
  void tick(TimePoint now);
  // What has changed is on the disk when this returns, as far as the disk works.
  void commit(TimePoint now) { store_.commit(now); }

  StatusReport status() override;
  std::vector<JobRow> jobs() override;
  std::vector<TreeRow> trees() override;
  std::vector<ReservationRow> reservations() override;
  Result<DrainOutcome> drain(const std::string& node, bool on) override;

 private:
  Status on_node_message(PeerId peer, const std::string& peer_text, const sharp::Envelope& message,
                         TimePoint now);
  NodeRow row_of(NodeId node);
  JobRow row_of(const Lease& lease, TimePoint now) const;

  Logger logger_;
  const ManagerSettings settings_;
  const TimePoint start_;
  Outbox& outbox_;
  Fabric fabric_;
  Store store_;
  Admission admission_;
  NodeDesk nodes_;
  ClientDesk clients_;
};

}  // namespace sluice::manager
