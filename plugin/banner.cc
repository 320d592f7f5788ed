// SPDX-License-Identifier: Apache-2.0
#include "plugin/banner.h"

#include <dlfcn.h>

#include "base/version.h"

namespace sluice::plugin {
namespace {

const char* path_of_this_library() {
  Dl_info info{};
  const bool found = dladdr(reinterpret_cast<const void*>(&log_banner), &info) != 0;
  return found && info.dli_fname != nullptr ? info.dli_fname : "unknown path";
}

}  // namespace

void log_banner(const Logger& logger, const InitArguments& arguments, const DeviceList& devices) {
  const std::string names = devices.empty() ? "none" : text_of(devices);
  SLUICE_INFO(
      logger, init,
      "sluice %s (git %s), %s, %s API v%d, devices: %s, transports: shm, tcp (verbs: not built)",
      kVersion, kGitId, path_of_this_library(), arguments.role == Role::net ? "net" : "CollNet",
      arguments.api_version, names.c_str());
}

}  // namespace sluice::plugin
