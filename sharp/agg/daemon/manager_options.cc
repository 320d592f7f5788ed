// SPDX-License-Identifier: Apache-2.0
#include "sharp/agg/daemon/manager_options.h"

#include <CLI/CLI.hpp>

#include "base/parameter_value.h"

namespace sluice::sharp {
namespace {

constexpr uint8_t kLeaf = 1;
constexpr uint8_t kInner = 2;
constexpr uint8_t kRoot = 4;

Result<uint8_t> role_of(const std::string& text) {
  if (text == "leaf") return kLeaf;
  if (text == "inner") return kInner;
  if (text == "root") return kRoot;
  return fail(ErrorKind::invalid_usage, "--roles " + text + ": leaf, inner or root is expected");
}

Result<uint64_t> bytes_a_second(const std::string& text) {
  ParameterInfo info{};
  info.type = ParameterType::bytes;
  info.minimum = 0;
  info.maximum = int64_t{1} << 50;
  info.choices = "";
  const auto value = parse_value(info, text);
  if (value) return static_cast<uint64_t>(value->number);
  return fail(ErrorKind::invalid_usage, "--bandwidth " + text + ": " + accepted_values(info) +
                                            " is expected, in bytes a second");
}

}  // namespace

void ManagerOptions::declare(CLI::App& app) {
  const std::string group = "With a manager";
  app.add_option("--manager", managers_,
                 "host:port of sluice-manager; several are tried in turn; none: the node is on its "
                 "own")
      ->delimiter(',')
      ->group(group);
  app.add_option("--name", name_, "what people call this node")->group(group);
  app.add_option("--advertise", advertise_,
                 "host:port by which ranks and nodes reach this one; default: as it listens, with "
                 "the address that the manager sees")
      ->group(group);
  CLI::Option* at =
      app.add_option("--at", at_, "switch or host where this node stands")->group(group);
  app.add_option("--serves", serves_,
                 "hosts and subnets (10.1.0.0/16) below this node, where --at is not known")
      ->delimiter(',')
      ->excludes(at)
      ->group(group);
  app.add_option("--uplink", uplink_, "switch, or address of a node, above this one")->group(group);
  app.add_option("--bandwidth", bandwidth_, "bytes a second that children may send; 0: unlimited")
      ->group(group);
  app.add_option("--rail", rail_, "the only rail it takes; -1: any")
      ->check(CLI::Range(-1, 15))
      ->group(group);
  app.add_option("--roles", roles_, "what it may be in a tree: leaf, inner, root; default: all")
      ->delimiter(',')
      ->group(group);
}

Result<RegistrationOptions> ManagerOptions::interpret() const {
  RegistrationOptions options;
  for (const std::string& text : managers_) {
    const auto address = transport::SocketAddress::parse(text);
    if (!address) return fail(ErrorKind::invalid_usage, "--manager: " + address.error().message);
    options.managers.push_back(*address);
  }
  options.self.name = name_;
  options.self.address = advertise_;
  options.self.at = at_;
  options.self.serves = serves_;
  options.self.uplink = uplink_;
  if (rail_ >= 0) options.self.rail = static_cast<uint8_t>(rail_);
  const auto bandwidth = bytes_a_second(bandwidth_);
  if (!bandwidth) return fail(bandwidth.error());
  options.self.bandwidth = *bandwidth;
  if (!roles_.empty()) options.self.roles = 0;
  for (const std::string& text : roles_) {
    const auto role = role_of(text);
    if (!role) return fail(role.error());
    options.self.roles |= *role;
  }
  // set_listening() fills an address that was not given.
  NodeRegister checked = options.self;
  if (checked.address.empty()) checked.address = "listening";
  SLUICE_RETURN_IF_ERROR(check(checked));
  return options;
}

}  // namespace sluice::sharp
