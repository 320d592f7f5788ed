// SPDX-License-Identifier: Apache-2.0
#include "plugin/settings.h"

#include <algorithm>
#include <cstdlib>

#include "transport/socket_options.h"

namespace sluice::plugin {
namespace {

constexpr int kMostStreams = 64;

int value_if_set(const Configuration& configuration, Parameter parameter) {
  return configuration.is_set(parameter) ? static_cast<int>(configuration.integer(parameter)) : -1;
}

// NCCL's two parameters multiply: threads that drive sockets, and sockets of each. Sluice drives
// all from NCCL's own progress thread, so only the product counts; automatic (-2) and 0 mean one.
int streams_of(const Configuration& configuration) {
  const auto factor = [&](Parameter parameter) {
    return std::max<int64_t>(1, configuration.integer(parameter));
  };
  const int64_t product =
      factor(Parameter::nccl_socket_nthreads) * factor(Parameter::nccl_nsocks_perthread);
  return static_cast<int>(std::min<int64_t>(product, kMostStreams));
}

transport::TransportChoice transport_choice(const std::string& text) {
  if (text == "tcp") return transport::TransportChoice::tcp;
  if (text == "shm") return transport::TransportChoice::shm;
  return transport::TransportChoice::automatic;
}

const char* name_of(transport::TransportChoice choice) {
  switch (choice) {
    case transport::TransportChoice::tcp:
      return "tcp";
    case transport::TransportChoice::shm:
      return "shm";
    case transport::TransportChoice::automatic:
      break;
  }
  return "auto";
}

// Where SLUICE_JOB is not set: the scheduler's own variable.
std::string job_name(const Configuration& configuration) {
  std::string name = configuration.text(Parameter::sluice_job);
  for (const char* variable : {"SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "JOB_ID"}) {
    const char* value = name.empty() ? std::getenv(variable) : nullptr;
    if (value != nullptr) name = value;
  }
  return name;
}

Result<std::vector<sharp::TreeSpec>> configured_trees(const Configuration& configuration) {
  const std::string& text = configuration.text(Parameter::sluice_agg);
  if (text.empty()) return std::vector<sharp::TreeSpec>();
  auto trees = sharp::parse_trees(text);
  if (!trees) return trees;
  for (sharp::TreeSpec& tree : *trees) SLUICE_RETURN_IF_ERROR(sharp::look_up(tree));
  return trees;
}

sharp::Verification verification_of(const std::string& text) {
  if (text == "all") return sharp::Verification::all;
  return text == "sample" ? sharp::Verification::sample : sharp::Verification::off;
}

std::string congestion_control(const Logger& logger, const Configuration& configuration) {
  std::string name = configuration.text(Parameter::sluice_tcp_congestion);
  if (name.empty()) return name;
  if (const Status usable = transport::check_congestion_control(name); !usable) {
    SLUICE_WARN(logger, env, "SLUICE_TCP_CONGESTION: %s; the kernel's default is used",
                usable.error().message.c_str());
    name.clear();
  }
  return name;
}

}  // namespace

transport::LaneDecision choose_lane(const Configuration& configuration, int traffic_class) {
  transport::LaneRequest request;
  request.explicit_lane = value_if_set(configuration, Parameter::sluice_lane);
  request.traffic_class = traffic_class;
  request.verbatim_tos = value_if_set(configuration, Parameter::nccl_ib_tc);
  return transport::choose_lane(request);
}

transport::Settings transport_settings(const Logger& logger, const Configuration& configuration,
                                       const transport::LaneDecision& lane) {
  transport::Settings settings;
  settings.choice = transport_choice(configuration.text(Parameter::sluice_transport));
  settings.cross_memory_attach = configuration.flag(Parameter::sluice_cma);
  settings.streams = streams_of(configuration);
  settings.socket_buffer = static_cast<int>(configuration.bytes(Parameter::sluice_socket_buffer));
  settings.tcp_congestion = congestion_control(logger, configuration);
  settings.in_order_tos = lane.classes.in_order_tos;
  settings.adaptive_tos = lane.classes.adaptive_tos;
  settings.shm_ring_bytes = configuration.bytes(Parameter::sluice_shm_ring_bytes);
  settings.connect_timeout = configuration.duration(Parameter::sluice_connect_timeout);
  settings.accept_timeout = configuration.is_set(Parameter::sluice_accept_timeout)
                                ? configuration.duration(Parameter::sluice_accept_timeout)
                                : settings.connect_timeout;
  settings.peer_timeout = configuration.duration(Parameter::sluice_peer_timeout);
  settings.connect_retries =
      static_cast<int>(configuration.integer(Parameter::nccl_socket_retry_cnt));
  settings.retry_sleep =
      std::chrono::milliseconds(configuration.integer(Parameter::nccl_socket_retry_sleep_msec));
  return settings;
}

bool uses_libsharp(const Configuration& configuration) {
  return configuration.text(Parameter::sluice_sharp_backend) == "libsharp";
}

Result<sharp::ClientSettings> client_settings(const Configuration& configuration) {
  if (uses_libsharp(configuration)) {
    // What else there is to know the library takes from the environment; a no is told to all ranks.
    sharp::ClientSettings settings;
    settings.connect_timeout = configuration.duration(Parameter::sluice_connect_timeout);
    return settings;
  }
  if (configuration.flag(Parameter::nccl_sharp_disable)) {
    return fail(ErrorKind::refused, "NCCL_SHARP_DISABLE is set");
  }
  if (configuration.text(Parameter::sluice_agg).empty() &&
      configuration.text(Parameter::sluice_manager).empty()) {
    return fail(ErrorKind::refused,
                "SLUICE_AGG names no aggregation node, SLUICE_MANAGER no manager");
  }
  auto trees = configured_trees(configuration);
  if (!trees) return fail(std::move(trees).error());
  sharp::ClientSettings settings;
  settings.trees = *std::move(trees);
  settings.manager = configuration.text(Parameter::sluice_manager);
  settings.job = job_name(configuration);
  settings.tenant = configuration.text(Parameter::sluice_tenant);
  settings.priority = static_cast<int>(configuration.integer(Parameter::sluice_priority));
  settings.chunk_bytes = configuration.bytes(Parameter::sluice_chunk_size);
  settings.window = static_cast<int>(configuration.integer(Parameter::sluice_window));
  settings.latency_threshold = configuration.bytes(Parameter::sluice_latency_threshold);
  settings.precision = configuration.text(Parameter::sluice_precision) == "exact"
                           ? sharp::Precision::exact
                           : sharp::Precision::compact;
  settings.verification = verification_of(configuration.text(Parameter::sluice_verify));
  settings.fallback = configuration.flag(Parameter::sluice_fallback);
  settings.connect_timeout = configuration.duration(Parameter::sluice_connect_timeout);
  return settings;
}

std::string text_of(const transport::Settings& settings, const transport::LaneDecision& lane) {
  return format_text("transport %s, %d tcp stream%s, %s", name_of(settings.choice),
                     settings.streams, settings.streams == 1 ? "" : "s", lane.rule.c_str());
}

}  // namespace sluice::plugin
