// SPDX-License-Identifier: Apache-2.0
// The state of the loaded library: the only one that is process-wide.
//
// NCCL's tables force it on us: devices(), getProperties() and accept() carry no context, v6..v10
// none at all. It owns the contexts until finalize and the listens until closeListen, finalize or
// the unloading of the library, and it keeps the device list whose strings NCCL points at. Open
// connections belong to NCCL and are never touched. The library has no static objects with
// destructors and no exit handler; one destructor function frees what is left when the library
// goes, and does nothing in a forked child. Thread rule: any thread; no call holds the lock while a
// peer is involved.
#pragma once

#include <memory>

#include "plugin/context.h"
#include "plugin/listen_comm.h"

namespace sluice::plugin::library {

// Names a context as the tables do: by pointer from API v11 on, by role before.
struct ContextKey {
  Role role = Role::net;
  bool per_communicator = false;
  const void* pointer = nullptr;
  int traffic_class = -1;  // of one connect, API v10
};

// Makes and keeps a context; before v11 a second init of a role finds the first one's.
// Configuration and devices are read again when no context is left.
Result<std::shared_ptr<CommunicatorContext>> open_context(const InitArguments& arguments);
// invalid_argument when there is none such.
Result<std::shared_ptr<CommunicatorContext>> find_context(const ContextKey& key);
// Frees the context's listens and half-open connects; the context goes with its last connection.
Status close_context(const void* pointer);
// Whether a CollNet context exists.
bool collnet_is_on();
// That it is to use SHARP switches.
bool collnet_uses_libsharp();

// nullptr before the first init.
std::shared_ptr<const DeviceList> devices();

// The pointer is NCCL's listenComm.
ListenComm* keep_listen(std::shared_ptr<ListenComm> listen);
Result<std::shared_ptr<ListenComm>> find_listen(const void* listen);
// Succeeds for nullptr.
Status close_listen(const void* listen);

// For complaints about calls that name no known object: the logger of the newest context.
Logger logger();
// Logs the error of a refused call and passes it on.
tl::unexpected<Error> reject(Error error);
tl::unexpected<Error> reject(std::string message);  // invalid_argument

}  // namespace sluice::plugin::library
