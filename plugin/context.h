// SPDX-License-Identifier: Apache-2.0
// CommunicatorContext: what one init gave to NCCL, and what all connections made from it share.
//
// From API v11 on there is one for each communicator and table (net, CollNet); v6..v10 know no
// context, there the first init of a table makes one for the process. Ownership: held by
// plugin/library.h until finalize, and by every listen and connection object, so that none of them
// can outlive it. Thread rule: any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/config.h"
#include "base/log.h"
#include "plugin/abi/nccl_net.h"
#include "plugin/devices.h"
#include "plugin/net/pending_connects.h"
#include "sharp/client/client.h"
#include "transport/endpoint.h"
#include "transport/lanes/lane.h"

namespace sluice::plugin {

enum class Role { net, collnet };

// What a communicator's init tells.
struct InitArguments {
  Role role = Role::net;
  int api_version = 0;
  bool per_communicator = false;  // API v11 and later
  uint64_t communicator_id = 0;
  int traffic_class = -1;
  ncclDebugLogger_t log_callback = nullptr;
};

// "communicator 0x12ab" for log lines.
std::string name_of(const InitArguments& arguments);

// NCCL's hints about what follows (setNetAttr); the only per-operation hint a scheduler gets.
class TrafficHints {
 public:
  void store(const abi::NetAttributes& attributes);
  abi::NetAttributes load() const;

 private:
  std::atomic<int32_t> send_peers_{0};
  std::atomic<int32_t> receive_peers_{0};
  std::atomic<int32_t> send_flows_{0};
  std::atomic<int32_t> receive_flows_{0};
  std::atomic<uint32_t> operation_{0};
  std::atomic<uint32_t> algorithm_{0};
  std::atomic<uint32_t> protocol_{0};
};

class CommunicatorContext {
 public:
  CommunicatorContext(const InitArguments& arguments, const Logger& logger,
                      Configuration configuration, std::shared_ptr<const DeviceList> devices);

  const InitArguments& arguments() const { return arguments_; }
  const Logger& logger() const { return logger_; }
  const Configuration& configuration() const { return configuration_; }
  const DeviceList& devices() const { return *devices_; }
  transport::Context& transport() { return transport_; }
  net::PendingConnects& pending_connects() { return pending_connects_; }
  TrafficHints& hints() { return hints_; }
  // Set by CollNet's init, before anybody else sees the context.
  std::optional<sharp::ClientSettings>& client_settings() { return client_settings_; }

  // An invalid_argument error unless `device` is the number of one.
  Result<const Device*> device(int device) const;
  const std::string& name() const { return name_; }
  void log_communicator_line() const;

 private:
  const InitArguments arguments_;
  const Logger logger_;
  const Configuration configuration_;
  const std::shared_ptr<const DeviceList> devices_;
  const std::string name_;
  const transport::LaneDecision lane_;
  transport::Context transport_;
  net::PendingConnects pending_connects_;  // after transport_: goes first
  TrafficHints hints_;
  std::optional<sharp::ClientSettings> client_settings_;
};

}  // namespace sluice::plugin
