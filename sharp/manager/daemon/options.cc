// SPDX-License-Identifier: Apache-2.0
#include "sharp/manager/daemon/options.h"

#include "base/version.h"
#include "sharp/daemon/command_line.h"

namespace sluice::manager {
namespace {

constexpr int64_t kDay = int64_t{24} * 3600 * 1000;  // milliseconds

struct Texts {
  std::string listen = "0.0.0.0:7600";
  std::string lease_time = "60s";
  std::string peer_timeout = "20s";
};

Result<Duration> duration(const char* option, const std::string& text, int64_t least) {
  ParameterInfo info{};
  info.type = ParameterType::duration;
  info.minimum = least;
  info.maximum = kDay;
  info.choices = "";
  const auto milliseconds = sharp::number_of(option, text, info);
  if (!milliseconds) return fail(milliseconds.error());
  return std::chrono::milliseconds(*milliseconds);
}

Status interpret(const Texts& texts, DaemonOptions& options) {
  const auto listen = transport::SocketAddress::parse(texts.listen);
  if (!listen) return fail(ErrorKind::invalid_usage, "--listen: " + listen.error().message);
  options.listen = *listen;
  const auto lease_time = duration("--lease-time", texts.lease_time, 1000);
  if (!lease_time) return fail(lease_time.error());
  options.lease_time = *lease_time;
  const auto peer_timeout = duration("--peer-timeout", texts.peer_timeout, 100);
  if (!peer_timeout) return fail(peer_timeout.error());
  options.peer_timeout = *peer_timeout;
  if (options.control == "off") options.control.clear();
  return {};
}

void declare(CLI::App& app, Texts& texts, DaemonOptions& options) {
  app.add_option("--listen", texts.listen, "address and port for clients and nodes; port 0: any")
      ->capture_default_str();
  app.add_option("--port-file", options.port_file, "file that this port is written to");
  app.add_option("--control", options.control,
                 "address and port for the command line and schedulers (gRPC), or off; it asks "
                 "nobody who they are")
      ->capture_default_str();
  app.add_option("--control-port-file", options.control_port_file,
                 "file that this port is written to");
  app.add_option("--state", options.state_file, "file that leases survive a restart in");
  app.add_option("--fabric", options.fabric_files, "topology file (TOML)");
  app.add_option("--ibnetdiscover", options.ibnetdiscover_files, "output of ibnetdiscover");
  app.add_option("--reservations", options.reservation_files,
                 "file with the tenants' reservations and limits (TOML)");
  app.add_option("--lease-time", texts.lease_time,
                 "a lease ends when neither its client nor a node has named it for so long")
      ->capture_default_str();
  app.add_flag("!--no-preemption", options.preemption,
               "higher priorities take no trees from lower ones");
  app.add_option("--peer-timeout", texts.peer_timeout,
                 "a client or node that is silent for so long is lost")
      ->capture_default_str();
  app.set_version_flag("--version", format_text("sluice-manager %s (%s)", kVersion, kGitId));
}

}  // namespace

Result<CommandLine> parse_command_line(int argc, const char* const* argv) {
  CLI::App app("The manager of Sluice: which job reduces in which nodes.", "sluice-manager");
  Texts texts;
  DaemonOptions options;
  declare(app, texts, options);
  auto text = sharp::parse(app, argc, argv);
  if (!text) return fail(std::move(text).error());
  if (*text) return CommandLine{std::nullopt, **text};
  SLUICE_RETURN_IF_ERROR(interpret(texts, options));
  return CommandLine{options, ""};
}

}  // namespace sluice::manager
