// SPDX-License-Identifier: Apache-2.0
// The command line of sluice-agg.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "sharp/agg/registration.h"
#include "sharp/agg/server.h"

namespace sluice::sharp {

struct DaemonOptions {
  ServerOptions server;
  transport::Settings transport;
  RegistrationOptions registration;
  std::string port_file;  // empty: none
};

struct CommandLine {
  std::optional<DaemonOptions> options;
  std::string text;  // when there are no options: what was asked for (help, version)
};

// An error is a sentence about what was wrong.
Result<CommandLine> parse_command_line(int argc, const char* const* argv);

}  // namespace sluice::sharp
