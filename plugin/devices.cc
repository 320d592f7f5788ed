// SPDX-License-Identifier: Apache-2.0
#include "plugin/devices.h"

#include <utility>

#include "plugin/abi/nccl_types.h"
#include "plugin/settings.h"
#include "sharp/libsharp/mapping.h"
#include "transport/tcp/interfaces.h"

namespace sluice::plugin {
namespace {

constexpr int kMaxComms = 1 << 16;             // no limit of ours
constexpr size_t kMaxBytes = size_t{1} << 40;  // the largest NCCL accepts

constexpr const char* kSysfs = "/sys";

using transport::tcp::Family;
using transport::tcp::Interface;

Family family_of(const std::string& text) {
  if (text == "AF_INET") return Family::ipv4;
  if (text == "AF_INET6") return Family::ipv6;
  return Family::any;
}

Device make_device(const Interface& interface, size_t index, size_t most_collective_bytes) {
  Device device;
  DeviceProperties& properties = device.properties;
  properties.name = interface.name;
  properties.pci_path = transport::tcp::interface_path(interface.name, kSysfs);
  properties.guid = index;
  properties.pointer_support = abi::kPointerHost;
  properties.speed = transport::tcp::interface_speed(interface.name, kSysfs);
  properties.max_comms = kMaxComms;
  properties.max_receives = abi::kMaxReceives;
  properties.device_type = abi::kDeviceHost;
  properties.max_p2p_bytes = kMaxBytes;
  properties.max_collective_bytes = most_collective_bytes;
  properties.max_multi_request_size = 1;
  device.address = interface.address;
  device.address.set_port(0);
  return device;
}

}  // namespace

Result<DeviceList> find_devices(const Configuration& configuration, const Logger& logger) {
  auto interfaces = transport::tcp::list_interfaces();
  if (!interfaces) {
    SLUICE_WARN(logger, init, "%s", interfaces.error().message.c_str());
    return fail(std::move(interfaces).error());
  }
  const std::string& filter = configuration.text(Parameter::nccl_socket_ifname);
  const std::string& family = configuration.text(Parameter::nccl_socket_family);
  const size_t most_collective_bytes =
      uses_libsharp(configuration) ? sharp::libsharp::kMaxOperationBytes : kMaxBytes;
  DeviceList devices;
  for (const Interface& interface :
       transport::tcp::choose_interfaces(*interfaces, filter, family_of(family))) {
    devices.push_back(make_device(interface, devices.size(), most_collective_bytes));
  }
  if (devices.empty()) {
    SLUICE_WARN(
        logger, init,
        "no network interface that is up fits NCCL_SOCKET_IFNAME '%s' and NCCL_SOCKET_FAMILY '%s'",
        filter.c_str(), family.c_str());
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
