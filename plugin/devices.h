// SPDX-License-Identifier: Apache-2.0
// The devices that NCCL sees: one for each chosen network interface, the same for net and CollNet.
//
// A DeviceList is immutable; NCCL keeps pointers to its strings, so the library keeps the list
// until it is initialised again after the last finalize, or unloaded. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/config.h"
#include "base/log.h"
#include "transport/endpoint.h"

namespace sluice::plugin {

struct DeviceProperties {
  std::string name;
  std::string pci_path;  // an existing path
  uint64_t guid = 0;
  int pointer_support = 0;
  int reg_is_global = 1;
  int force_flush = 0;
  int speed = 0;  // Mbit/s
  int port = 0;
  float latency = 0;  // us
  int max_comms = 0;
  int max_receives = 0;
  int device_type = 0;
  int device_version = 0;
  size_t max_p2p_bytes = 0;
  size_t max_collective_bytes = 0;
  int max_multi_request_size = 0;
  int16_t rail = -1;
  int16_t plane = -1;
};

struct Device {
  DeviceProperties properties;
  transport::SocketAddress address;  // where its listeners are bound; port 0
};

using DeviceList = std::vector<Device>;

Result<DeviceList> find_devices(const Configuration& configuration, const Logger& logger);

// "eth0 (10000 Mbit/s), eth1 (25000 Mbit/s)" for the banner.
std::string text_of(const DeviceList& devices);

}  // namespace sluice::plugin
