// SPDX-License-Identifier: Apache-2.0
// How two processes of one host come to share a segment: over an abstract unix socket (which lives
// in the network namespace, so that two namespaces never take each other for one host) the listener
// passes the segment and the two event descriptors; then each finds out whether it may write into
// the other. Thread rule: one thread at a time.
#pragma once

#include <string>

#include "transport/endpoint.h"
#include "transport/setup/setup_socket.h"
#include "transport/shm/connection.h"

namespace sluice::transport {

Result<FileDescriptor> listen_local(const std::string& name);
// nullopt-like empty descriptor: the listener is busy, try again.
Result<FileDescriptor> connect_local(const std::string& name);

// Listener: makes the segment and passes it on. The returned parts lack only the peer's memory.
Result<shm::Parts> offer_shm(SetupSocket& local, const Settings& settings);
// Connector: maps what was offered, tests direct writes if wanted, and says so.
Result<shm::Parts> accept_shm(SetupSocket& local, SetupMessage& offer, bool direct);
// Listener: the connector has mapped; tests direct writes the other way.
void finish_shm(shm::Parts& parts, SetupSocket& local, const SetupMessage& mapped, bool direct);

}  // namespace sluice::transport
