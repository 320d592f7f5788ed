// SPDX-License-Identifier: Apache-2.0
// The command line of sluice-manager, and the files it names.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "sharp/manager/core/admission.h"
#include "transport/endpoint.h"

namespace sluice::manager {

struct DaemonOptions {
  transport::SocketAddress listen;
  std::string port_file;                   // empty: none
  std::string control = "127.0.0.1:7601";  // gRPC; empty: none
  std::string control_port_file;           // empty: none
  std::string state_file;                  // empty: none
  std::vector<std::string> fabric_files;   // TOML
  std::vector<std::string> ibnetdiscover_files;
  std::vector<std::string> reservation_files;  // TOML, tenants only
  Duration lease_time = std::chrono::seconds(60);
  bool preemption = true;
  Duration peer_timeout = std::chrono::seconds(20);
};

struct CommandLine {
  std::optional<DaemonOptions> options;
  std::string text;  // when there are no options: what was asked for (help, version)
};

// An error is a sentence about what was wrong.
Result<CommandLine> parse_command_line(int argc, const char* const* argv);

// What the files say, all together.
struct Site {
  Fabric fabric;
  AdmissionPolicy policy;
};
Result<Site> read_site(const DaemonOptions& options);

}  // namespace sluice::manager
