// SPDX-License-Identifier: Apache-2.0
// sluice-agg: the aggregation node as a daemon. Exit status: 0 ended by a signal, 1 something
// broke, 2 cannot be started so.
#include <atomic>
#include <csignal>
#include <cstdio>

#include "base/version.h"
#include "sharp/agg/daemon/options.h"
#include "sharp/agg/server.h"
#include "transport/port_file.h"

namespace {

using sluice::Logger;
using sluice::LogLevel;
using sluice::Status;

// The signal handler's way to the server.
std::atomic<sluice::sharp::AggregationServer*> running_server{nullptr};
static_assert(decltype(running_server)::is_always_lock_free);

void on_signal(int) {
  if (auto* server = running_server.load()) server->stop();
}

void on_drain_signal(int) {
  if (auto* server = running_server.load()) server->drain();
}

void watch_signals() {
  struct sigaction action {};
  action.sa_handler = on_signal;
  ::sigaction(SIGTERM, &action, nullptr);
  ::sigaction(SIGINT, &action, nullptr);
  action.sa_handler = on_drain_signal;
  ::sigaction(SIGUSR1, &action, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
}

Status serve(sluice::transport::Context& context, const sluice::sharp::DaemonOptions& options) {
  sluice::sharp::Registration registration(context.logger(), options.transport,
                                           options.registration);
  sluice::sharp::ServerOptions server_options = options.server;
  if (!options.registration.managers.empty()) server_options.guest = &registration;
  auto server = sluice::sharp::AggregationServer::open(context, server_options);
  if (!server) return sluice::fail(server.error());
  running_server = server->get();
  watch_signals();
  const auto address = (*server)->address();
  registration.set_listening(address);
  SLUICE_INFO(context.logger(), init, "sluice-agg %s (%s) listens on %s", sluice::kVersion,
              sluice::kGitId, sluice::transport::text_of(address).c_str());
  if (!options.port_file.empty()) {
    SLUICE_RETURN_IF_ERROR(sluice::transport::write_port_file(options.port_file, address.port));
  }
  Status status = (*server)->run();
  // A signal from here on finds no server.
  std::signal(SIGTERM, SIG_IGN);
  std::signal(SIGINT, SIG_IGN);
  std::signal(SIGUSR1, SIG_IGN);
  running_server = nullptr;
  return status;
}

}  // namespace

int main(int argc, char** argv) {
  const auto command_line = sluice::sharp::parse_command_line(argc, argv);
  if (!command_line) {
    std::fprintf(stderr, "sluice-agg: %s (see --help)\n", command_line.error().message.c_str());
    return 2;
  }
  if (!command_line->options) {
    std::fputs(command_line->text.c_str(), stdout);
    return 0;
  }
  const Logger logger = Logger::to_stderr("sluice-agg", LogLevel::info);
  sluice::transport::Context context(logger, command_line->options->transport);
  if (const Status status = serve(context, *command_line->options); !status) {
    SLUICE_WARN(logger, init, "%s", status.error().message.c_str());
    return 1;
  }
  SLUICE_INFO(logger, init, "ended by a signal");
  return 0;
}
