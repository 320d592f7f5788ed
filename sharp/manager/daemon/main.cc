// SPDX-License-Identifier: Apache-2.0
// sluice-manager: the aggregation manager as a daemon. Exit status: 0 ended by a signal, 1
// something broke, 2 cannot be started so.
#include <sys/resource.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <utility>

#include "base/version.h"
#include "sharp/manager/control/server.h"
#include "sharp/manager/daemon/options.h"
#include "sharp/manager/daemon/server.h"
#include "transport/port_file.h"

namespace {

using sluice::Logger;
using sluice::LogLevel;
using sluice::Status;
using sluice::manager::ControlServer;
using sluice::manager::DaemonOptions;
using sluice::manager::ManagerServer;

// The signal handler's way to the server.
std::atomic<ManagerServer*> running_server{nullptr};
static_assert(decltype(running_server)::is_always_lock_free);

void on_signal(int) {
  if (auto* server = running_server.load()) server->stop();
}

void watch_signals() {
  struct sigaction action {};
  action.sa_handler = on_signal;
  ::sigaction(SIGTERM, &action, nullptr);
  ::sigaction(SIGINT, &action, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
}

// A node or client takes a few descriptors each.
void allow_many_descriptors() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

sluice::transport::Settings transport_settings(const DaemonOptions& options) {
  sluice::transport::Settings settings;
  // Few and small messages: shared memory would only cost memory. Whoever insists on it may have
  // it.
  settings.shm_ring_bytes = 64 << 10;
  settings.peer_timeout = options.peer_timeout;
  settings.accept_timeout = sluice::Duration::max();
  return settings;
}

Status write_port(const std::string& file, uint16_t port) {
  return file.empty() ? Status() : sluice::transport::write_port_file(file, port);
}

Status serve(sluice::transport::Context& context, const DaemonOptions& options,
             sluice::manager::Site site) {
  ManagerServer::Options server_options;
  server_options.listen = options.listen;
  server_options.manager.policy = std::move(site.policy);
  server_options.manager.state_file = options.state_file;
  auto server = ManagerServer::open(context, std::move(server_options), std::move(site.fabric));
  if (!server) return sluice::fail(server.error());
  running_server = server->get();
  watch_signals();
  std::unique_ptr<ControlServer> control;
  if (!options.control.empty()) {
    auto opened = ControlServer::open(options.control, (*server)->gate());
    if (!opened) return sluice::fail(opened.error());
    control = std::move(*opened);
    SLUICE_RETURN_IF_ERROR(write_port(options.control_port_file, control->port()));
  }
  const auto address = (*server)->address();
  SLUICE_INFO(context.logger(), init, "sluice-manager %s (%s) listens on %s, control on %s",
              sluice::kVersion, sluice::kGitId, sluice::transport::text_of(address).c_str(),
              control != nullptr ? options.control.c_str() : "nothing");
  SLUICE_RETURN_IF_ERROR(write_port(options.port_file, address.port));
  Status status = (*server)->run();
  // A signal from here on finds no server.
  std::signal(SIGTERM, SIG_IGN);
  std::signal(SIGINT, SIG_IGN);
  running_server = nullptr;
  return status;
}

}  // namespace

// NOLINTNEXTLINE(bugprone-exception-escape): out of memory may well end a daemon
int main(int argc, char** argv) {
  const auto command_line = sluice::manager::parse_command_line(argc, argv);
  if (!command_line) {
    std::fprintf(stderr, "sluice-manager: %s (see --help)\n", command_line.error().message.c_str());
    return 2;
  }
  if (!command_line->options) {
    std::fputs(command_line->text.c_str(), stdout);
    return 0;
  }
  auto site = sluice::manager::read_site(*command_line->options);
  if (!site) {
    std::fprintf(stderr, "sluice-manager: %s\n", site.error().message.c_str());
    return 2;
  }
  allow_many_descriptors();
  const Logger logger = Logger::to_stderr("sluice-manager", LogLevel::info);
  sluice::transport::Context context(logger, transport_settings(*command_line->options));
  if (const Status status = serve(context, *command_line->options, std::move(*site)); !status) {
    SLUICE_WARN(logger, init, "%s", status.error().message.c_str());
    return 1;
  }
  SLUICE_INFO(logger, init, "ended by a signal");
  return 0;
}
