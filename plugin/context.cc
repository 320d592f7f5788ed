// SPDX-License-Identifier: Apache-2.0
#include "plugin/context.h"

#include <utility>

#include "plugin/settings.h"

namespace sluice::plugin {

std::string name_of(const InitArguments& arguments) {
  if (!arguments.per_communicator) return "all communicators of this process";
  return format_text("communicator 0x%llx",
                     static_cast<unsigned long long>(arguments.communicator_id));
}

void TrafficHints::store(const abi::NetAttributes& attributes) {
  send_peers_ = attributes.sendCommAttr.maxConcurrentPeers;
  receive_peers_ = attributes.recvCommAttr.maxConcurrentPeers;
  send_flows_ = attributes.sendCommAttr.maxFlowsPerPeer;
  receive_flows_ = attributes.recvCommAttr.maxFlowsPerPeer;
  operation_ = attributes.op;
  algorithm_ = attributes.algo;
  protocol_ = attributes.proto;
}

abi::NetAttributes TrafficHints::load() const {
  abi::NetAttributes attributes{};
  attributes.sendCommAttr.maxConcurrentPeers = send_peers_;
  attributes.recvCommAttr.maxConcurrentPeers = receive_peers_;
  attributes.sendCommAttr.maxFlowsPerPeer = send_flows_;
  attributes.recvCommAttr.maxFlowsPerPeer = receive_flows_;
  attributes.op = operation_;
  attributes.algo = algorithm_;
  attributes.proto = protocol_;
  return attributes;
}

CommunicatorContext::CommunicatorContext(const InitArguments& arguments, const Logger& logger,
                                         Configuration configuration,
                                         std::shared_ptr<const DeviceList> devices)
    : arguments_(arguments),
      logger_(logger),
      configuration_(std::move(configuration)),
      devices_(std::move(devices)),
      name_(name_of(arguments)),
      lane_(choose_lane(configuration_, arguments.traffic_class)),
      transport_(logger, transport_settings(logger, configuration_, lane_)) {}

Result<const Device*> CommunicatorContext::device(int device) const {
  if (device < 0 || static_cast<size_t>(device) >= devices_->size()) {
    return fail(ErrorKind::invalid_argument,
                format_text("there is no device %d, %zu are known", device, devices_->size()));
  }
  return &(*devices_)[static_cast<size_t>(device)];
}

void CommunicatorContext::log_communicator_line() const {
  if (!lane_.warning.empty()) SLUICE_WARN(logger_, net, "%s", lane_.warning.c_str());
  const std::string settings = text_of(transport_.settings(), lane_);
  SLUICE_INFO(logger_, net, "%s: %s", name_.c_str(), settings.c_str());
}

}  // namespace sluice::plugin
