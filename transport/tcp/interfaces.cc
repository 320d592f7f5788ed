// SPDX-License-Identifier: Apache-2.0
#include "transport/tcp/interfaces.h"

#include <ifaddrs.h>
#include <net/if.h>

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <memory>
#include <string_view>

namespace sluice::transport::tcp {
namespace {

constexpr int kUnknownSpeed = 10000;

struct Filter {
  bool exclude = false;
  bool exact = false;
  std::vector<std::string> names;

  bool takes(const std::string& name) const {
    const auto matches = [&](const std::string& wanted) {
      return exact ? name == wanted : name.starts_with(wanted);
    };
    return std::any_of(names.begin(), names.end(), matches) != exclude;
  }
};

Filter parse_filter(std::string_view text) {
  Filter filter;
  if (text.starts_with('^')) {
    filter.exclude = true;
    text.remove_prefix(1);
  }
  if (text.starts_with('=')) {
    filter.exact = true;
    text.remove_prefix(1);
  }
  while (!text.empty()) {
    const size_t comma = std::min(text.find(','), text.size());
    std::string_view name = text.substr(0, comma);
    name = name.substr(
        0, name.find(':'));  // NCCL allows a port behind the name; it means nothing here
    while (name.starts_with(' ')) name.remove_prefix(1);
    while (name.ends_with(' ')) name.remove_suffix(1);
    if (!name.empty()) filter.names.emplace_back(name);
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return filter;
}

bool family_fits(const Interface& interface, Family family) {
  switch (family) {
    case Family::any:
      return true;
    case Family::ipv4:
      return interface.address.family() == AF_INET;
    case Family::ipv6:
      return interface.address.family() == AF_INET6;
  }
  return false;
}

using Predicate = std::function<bool(const std::string& name)>;

std::vector<Interface> take(const std::vector<Interface>& all, Family family,
                            const Predicate& wanted) {
  std::vector<Interface> chosen;
  for (const Interface& interface : all) {
    const auto same_name = [&](const Interface& other) { return other.name == interface.name; };
    if (interface.up && family_fits(interface, family) && wanted(interface.name) &&
        std::none_of(chosen.begin(), chosen.end(), same_name)) {
      chosen.push_back(interface);
    }
  }
  return chosen;
}

}  // namespace

Result<std::vector<Interface>> list_interfaces() {
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) return fail_errno(errno, "the network interfaces cannot be listed");
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owner(list, &::freeifaddrs);
  std::vector<Interface> interfaces;
  for (const ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next) {
    if (entry->ifa_addr == nullptr) continue;
    const int family = entry->ifa_addr->sa_family;
    if (family != AF_INET && family != AF_INET6) continue;
    const socklen_t size = family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
    auto address = SocketAddress::from(entry->ifa_addr, size);
    if (!address) continue;
    constexpr unsigned kUp = IFF_UP | IFF_RUNNING;
    interfaces.push_back({entry->ifa_name, *address, (entry->ifa_flags & kUp) == kUp});
  }
  return interfaces;
}

std::vector<Interface> choose_interfaces(const std::vector<Interface>& all,
                                         const std::string& filter, Family family) {
  const Filter wanted = parse_filter(filter);
  if (!wanted.names.empty()) {
    return take(all, family, [&](const std::string& name) { return wanted.takes(name); });
  }
  const Predicate order[] = {
      [](const std::string& name) { return name.starts_with("ib"); },
      [](const std::string& name) {
        return !name.starts_with("docker") && !name.starts_with("lo");
      },
      [](const std::string& name) { return name.starts_with("docker"); },
      [](const std::string& name) { return name.starts_with("lo"); },
  };
  for (const Predicate& preferred : order) {
    auto chosen = take(all, family, preferred);
    if (!chosen.empty()) return chosen;
  }
  return {};
}

int interface_speed(const std::string& name, const std::string& sysfs) {
  std::ifstream file(sysfs + "/class/net/" + name + "/speed");
  int speed = 0;
  return file >> speed && speed > 0 ? speed : kUnknownSpeed;
}

std::string interface_path(const std::string& name, const std::string& sysfs) {
  const std::string folder = sysfs + "/class/net/" + name;
  char resolved[PATH_MAX];
  for (const std::string& candidate : {folder + "/device", folder, sysfs}) {
    if (::realpath(candidate.c_str(), resolved) != nullptr) return resolved;
  }
  return sysfs;
}

}  // namespace sluice::transport::tcp
