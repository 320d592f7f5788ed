// SPDX-License-Identifier: Apache-2.0
#include "sharp/agg/daemon/options.h"

#include <algorithm>
#include <cstdint>

#include "base/version.h"
#include "sharp/agg/daemon/manager_options.h"
#include "sharp/daemon/command_line.h"
#include "transport/socket_options.h"

namespace sluice::sharp {
namespace {

constexpr int64_t kHour = int64_t{3600} * 1000;  // milliseconds

struct Texts {
  std::string listen = "0.0.0.0:7654";
  std::string memory = "1G";
  std::string memory_reserved = "0";
  std::string transport = "auto";
  std::string peer_timeout = "20s";
  std::string join_timeout = "60s";
  std::string tcp_congestion;
  std::string statistics = "off";
};

Result<int64_t> number(const char* option, const std::string& text, ParameterType type,
                       int64_t minimum, int64_t maximum) {
  ParameterInfo info{};
  info.type = type;
  info.minimum = minimum;
  info.maximum = maximum;
  info.choices = type == ParameterType::duration ? "off" : "";
  return number_of(option, text, info);
}

Result<Duration> duration(const char* option, const std::string& text) {
  const auto milliseconds = number(option, text, ParameterType::duration, 10, kHour);
  if (!milliseconds) return fail(milliseconds.error());
  if (*milliseconds == kNeverMilliseconds) return Duration::max();
  return std::chrono::milliseconds(*milliseconds);
}

Result<transport::TransportChoice> choice(const std::string& text) {
  if (text == "auto") return transport::TransportChoice::automatic;
  if (text == "tcp") return transport::TransportChoice::tcp;
  if (text == "shm") return transport::TransportChoice::shm;
  return fail(ErrorKind::invalid_usage, "--transport " + text + ": auto, tcp or shm is expected");
}

Status interpret(const Texts& texts, DaemonOptions& options) {
  auto listen = transport::SocketAddress::parse(texts.listen);
  if (!listen) return fail(ErrorKind::invalid_usage, "--listen: " + listen.error().message);
  options.server.listen = *listen;
  const auto memory =
      number("--memory", texts.memory, ParameterType::bytes, 64 << 10, int64_t{1} << 50);
  if (!memory) return fail(memory.error());
  options.server.limits.memory = static_cast<size_t>(*memory);
  const auto reserved =
      number("--memory-reserved", texts.memory_reserved, ParameterType::bytes, 0, int64_t{1} << 54);
  if (!reserved) return fail(reserved.error());
  options.server.limits.memory_reserved = static_cast<size_t>(*reserved);
  const auto transport = choice(texts.transport);
  if (!transport) return fail(transport.error());
  options.transport.choice = *transport;
  if (!texts.tcp_congestion.empty()) {
    const Status usable = transport::check_congestion_control(texts.tcp_congestion);
    if (!usable) return fail(ErrorKind::invalid_usage, usable.error().message);
  }
  options.transport.tcp_congestion = texts.tcp_congestion;
  const auto peer_timeout = duration("--peer-timeout", texts.peer_timeout);
  if (!peer_timeout) return fail(peer_timeout.error());
  options.transport.peer_timeout = *peer_timeout;
  const auto join_timeout = duration("--join-timeout", texts.join_timeout);
  if (!join_timeout) return fail(join_timeout.error());
  options.server.limits.join_timeout = *join_timeout;
  const auto statistics = duration("--stats-interval", texts.statistics);
  if (!statistics) return fail(statistics.error());
  options.server.statistics_interval =
      *statistics == Duration::max() ? Duration::zero() : *statistics;
  // A daemon waits for its first rank as long as it takes.
  options.transport.accept_timeout = Duration::max();
  return {};
}

// For tests of those who must notice.
void add_fault_options([[maybe_unused]] CLI::App& app, [[maybe_unused]] FaultPlan& faults) {
#ifdef SLUICE_FAULT_INJECTION
  app.add_option("--flip-one-bit-in", faults.flip_one_bit_in,
                 "TEST BUILD: wrong results, one bit in one of so many chunks; 0: never");
  app.add_option("--corrupt-one-in", faults.corrupt_one_in,
                 "TEST BUILD: damages one of so many payloads that are sent; 0: never");
  app.add_option("--fault-seed", faults.seed, "TEST BUILD: which ones");
#endif
}

}  // namespace

Result<CommandLine> parse_command_line(int argc, const char* const* argv) {
  CLI::App app("The aggregation node of Sluice: reduces the streams of the ranks of a group.",
               "sluice-agg");
  Texts texts;
  DaemonOptions options;
  NodeLimits& limits = options.server.limits;
  app.add_option("--listen", texts.listen, "address and port to listen on; port 0: any free one")
      ->capture_default_str();
  app.add_option("--port-file", options.port_file,
                 "file that the port is written to once the node listens");
  app.add_option("--memory", texts.memory, "most memory of all groups that are at work")
      ->capture_default_str();
  app.add_option("--memory-reserved", texts.memory_reserved,
                 "most memory of all groups, were they all at work; 0: 16 times --memory")
      ->capture_default_str();
  app.add_option("--max-groups", limits.max_groups, "most groups at a time")
      ->check(CLI::Range(1, 100000))
      ->capture_default_str();
  app.add_option("--max-members", limits.max_members, "most ranks of a group")
      ->check(CLI::Range(1, int{kMaxMembers}))
      ->capture_default_str();
  // What both ends of a connection should agree on may come from the ranks' own settings.
  app.add_option("--transport", texts.transport, "auto, tcp or shm")
      ->envname(info_of(Parameter::sluice_transport).name)
      ->capture_default_str();
  app.add_option("--tcp-congestion", texts.tcp_congestion,
                 "congestion control as the kernel names it (cubic, bbr); empty: its default")
      ->envname(info_of(Parameter::sluice_tcp_congestion).name);
  app.add_option("--peer-timeout", texts.peer_timeout,
                 "a rank that is silent for so long is lost; off: never")
      ->envname(info_of(Parameter::sluice_peer_timeout).name)
      ->capture_default_str();
  app.add_option("--join-timeout", texts.join_timeout,
                 "a group that is not complete after so long is given up")
      ->capture_default_str();
  app.add_option("--stats-interval", texts.statistics, "time between lines of statistics, or off")
      ->capture_default_str();
  ManagerOptions manager;
  manager.declare(app);
  add_fault_options(app, limits.faults);
  app.set_version_flag("--version", format_text("sluice-agg %s (%s)", kVersion, kGitId));
  auto text = parse(app, argc, argv);
  if (!text) return fail(std::move(text).error());
  if (*text) return CommandLine{std::nullopt, **text};
  SLUICE_RETURN_IF_ERROR(interpret(texts, options));
  auto registration = manager.interpret();
  if (!registration) return fail(registration.error());
  options.registration = std::move(*registration);
  return CommandLine{options, ""};
}

}  // namespace sluice::sharp
