// SPDX-License-Identifier: Apache-2.0
// Device properties in NCCL's layouts: each member is written in one place, where a version has it.
#pragma once

#include "plugin/abi/versions.h"
#include "plugin/devices.h"

namespace sluice::plugin::abi_tables {

// The strings stay the list's (plugin/devices.h).
template <typename Properties>
void fill_properties(const DeviceProperties& from, int device, Properties& to) {
  to = {};
  to.name = const_cast<char*>(from.name.c_str());
  to.pciPath = const_cast<char*>(from.pci_path.c_str());
  to.guid = from.guid;
  to.ptrSupport = from.pointer_support;
  to.speed = from.speed;
  to.port = from.port;
  to.latency = from.latency;
  to.maxComms = from.max_comms;
  to.maxRecvs = from.max_receives;
  if constexpr (requires { to.netDeviceType; }) {
    to.netDeviceType = from.device_type;
    to.netDeviceVersion = from.device_version;
  }
  if constexpr (requires { to.regIsGlobal; }) to.regIsGlobal = from.reg_is_global;
  if constexpr (requires { to.forceFlush; }) to.forceFlush = from.force_flush;
  if constexpr (requires { to.vProps; }) {
    to.vProps.ndevs = 1;
    to.vProps.devs[0] = device;
  }
  if constexpr (requires { to.maxP2pBytes; }) {
    to.maxP2pBytes = from.max_p2p_bytes;
    to.maxCollBytes = from.max_collective_bytes;
  }
  if constexpr (requires { to.maxMultiRequestSize; }) {
    to.maxMultiRequestSize = from.max_multi_request_size;
  }
  if constexpr (requires { to.railId; }) {
    to.railId = from.rail;
    to.planeId = from.plane;
  }
}

}  // namespace sluice::plugin::abi_tables
