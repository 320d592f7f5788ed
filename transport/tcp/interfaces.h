// SPDX-License-Identifier: Apache-2.0
// Which network interfaces to use: NCCL_SOCKET_IFNAME and NCCL_SOCKET_FAMILY with NCCL's meaning.
//
// Grammar of a filter: [^][=]name[:port],... "^" takes all but the named ones, "=" wants the whole
// name instead of a prefix. Without a filter: names that start with "ib", else any but docker* and
// lo*, else docker*, else lo*. Interfaces that are down are never taken; of each name the first
// address of a wanted family is. Any thread.
#pragma once

#include <string>
#include <vector>

#include "transport/endpoint.h"

namespace sluice::transport::tcp {

struct Interface {
  std::string name;
  SocketAddress address;  // port 0; link-local IPv6 carries its scope
  bool up = true;
};

enum class Family { any, ipv4, ipv6 };

// All of this host, in the kernel's order, one entry per address.
Result<std::vector<Interface>> list_interfaces();
// Pure: those of `all` that are to be used, in order, one entry per name.
std::vector<Interface> choose_interfaces(const std::vector<Interface>& all,
                                         const std::string& filter, Family family);

// Mbit/s; 10000 where the kernel does not know (virtual interfaces), as NCCL takes it. `sysfs` is
// "/sys".
int interface_speed(const std::string& name, const std::string& sysfs);
// A path that exists: of the PCI device, else (virtual interfaces) of the interface itself, else
// `sysfs`.
std::string interface_path(const std::string& name, const std::string& sysfs);

}  // namespace sluice::transport::tcp
