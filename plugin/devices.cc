// SPDX-License-Identifier: Apache-2.0
#include "plugin/devices.h"

#include <utility>

#include "plugin/abi/nccl_types.h"
#include "transport/tcp/interfaces.h"

namespace sluice::plugin {
namespace {

constexpr int kMaxComms = 1 << 16;             // no limit of ours
constexpr size_t kMaxBytes = size_t{1} << 40;  // the largest NCCL accepts

Device make_device(const transport::Interface& interface, size_t index) {
  Device device;
  DeviceProperties& properties = device.properties;
  properties.name = interface.name;
  properties.pci_path = interface.pci_path;
  properties.guid = index;
  properties.pointer_support = abi::kPointerHost;
  properties.speed = interface.speed;
  properties.max_comms = kMaxComms;
  properties.max_receives = abi::kMaxReceives;
  properties.device_type = abi::kDeviceHost;
  properties.max_p2p_bytes = kMaxBytes;
  properties.max_collective_bytes = kMaxBytes;
  properties.max_multi_request_size = 1;
  device.address = interface.address;
  device.address.set_port(0);
  return device;
}

}  // namespace

Result<DeviceList> find_devices(const Configuration& configuration, const Logger& logger) {
  auto interfaces = transport::find_interfaces(configuration.text(Parameter::nccl_socket_ifname),
                                               configuration.text(Parameter::nccl_socket_family));
  if (!interfaces) {
    SLUICE_WARN(logger, init, "%s", interfaces.error().message.c_str());
    return fail(std::move(interfaces).error());
  }
  DeviceList devices;
  for (const transport::Interface& interface : *interfaces) {
    devices.push_back(make_device(interface, devices.size()));
  }
  return devices;
}

std::string text_of(const DeviceList& devices) {
  std::string text;
  for (const Device& device : devices) {
    if (!text.empty()) text += ", ";
    text += format_text("%s (%d Mbit/s)", device.properties.name.c_str(), device.properties.speed);
  }
  return text;
}

}  // namespace sluice::plugin
