// SPDX-License-Identifier: Apache-2.0
// Making and reading ListenerAddress (declared in transport/endpoint.h). Any thread.
#pragma once

#include "transport/endpoint.h"

namespace sluice::transport {

inline constexpr uint32_t kAddressMagic = 0x31434c53;  // "SLC1"
inline constexpr uint16_t kProtocolVersion = 1;

ListenerAddress make_address(const SocketAddress& socket, Purpose purpose, uint64_t secret,
                             uint64_t host);
// Where to connect to; a link-local address gets a scope that means something on this host.
Result<SocketAddress> socket_address_of(const ListenerAddress& address);

}  // namespace sluice::transport
