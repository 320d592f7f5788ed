// SPDX-License-Identifier: Apache-2.0
// The one line by which the plugin says that it is there.
#pragma once

#include "base/log.h"
#include "plugin/context.h"

namespace sluice::plugin {

void log_banner(const Logger& logger, const InitArguments& arguments, const DeviceList& devices);

}  // namespace sluice::plugin
