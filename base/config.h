// SPDX-License-Identifier: Apache-2.0
// Configuration: one table of parameters, read from everywhere NCCL users put settings.
//
// Which source wins, first to last: environment, NCCL_CONF_FILE (else ~/.nccl.conf),
// /etc/nccl.conf, the file named by SLUICE_CONFIG, the default. A bad value is warned about with
// the accepted range and the next source or the default is used; unknown SLUICE_* and misspelt
// NCCL_SOCKET_*/NCCL_IB_* names are warned about with the nearest known name. The table
// (base/parameters.cc) also generates docs/configuration.md. Thread rule: a Configuration is
// immutable once loaded.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "base/result.h"

namespace sluice {

enum class Parameter {
  // NCCL's own names, with NCCL's meaning
  nccl_socket_ifname,            // text, NCCL's grammar: [^|=]prefix,...
  nccl_socket_family,            // choice: AF_INET, AF_INET6; empty = both
  nccl_socket_nthreads,          // integer -2..16, -2 = auto
  nccl_nsocks_perthread,         // integer -2..64, -2 = auto
  nccl_socket_retry_cnt,         // integer
  nccl_socket_retry_sleep_msec,  // integer
  nccl_ib_sl,                    // integer -1..15
  nccl_ib_tc,                    // integer -1..255
  nccl_sharp_disable,            // flag
  // ours
  sluice_config,             // text: file name
  sluice_transport,          // choice: auto, tcp, shm
  sluice_cma,                // flag
  sluice_shm_ring_bytes,     // bytes
  sluice_socket_buffer,      // bytes
  sluice_tcp_congestion,     // text: name of the kernel's algorithm; empty: its default
  sluice_connect_timeout,    // duration
  sluice_accept_timeout,     // duration, "off" = never; default: as connect timeout
  sluice_peer_timeout,       // duration, "off" = never
  sluice_lane,               // integer -1..7
  sluice_agg,                // text: trees of host:port, docs/operations.md
  sluice_manager,            // text: host:port[,host:port...]
  sluice_job,                // text
  sluice_tenant,             // text
  sluice_priority,           // integer
  sluice_chunk_size,         // bytes, of the streaming class
  sluice_window,             // integer, chunks in flight per group and class
  sluice_latency_threshold,  // bytes, at most 4096: larger operations stream
  sluice_precision,          // choice: compact, exact
  sluice_verify,             // choice: off, sample, all
  sluice_fallback,           // flag
  sluice_sharp_backend,      // choice: sluice, libsharp
  sluice_sharp_library,      // text
  count_
};

enum class Source { built_in, sluice_file, etc_file, home_file, nccl_file, environment };
const char* name_of(Source source);

enum class ParameterType { text, choice, flag, integer, bytes, duration };

struct ParameterInfo {
  Parameter parameter;
  const char* name;
  ParameterType type;
  const char* default_value;
  int64_t minimum;  // integer, bytes; milliseconds for durations
  int64_t maximum;
  const char* choices;  // "auto,tcp,shm" for choice
  const char* doc;      // one line
};

std::span<const ParameterInfo> parameter_table();
const ParameterInfo& info_of(Parameter parameter);

class Configuration {
 public:
  // Where settings are looked up; tests give their own.
  struct Origin {
    std::function<const char*(const char*)> get;      // getenv
    std::function<std::vector<std::string>()> names;  // all names in the environment
    std::string etc_file = "/etc/nccl.conf";
    static Origin process();
  };

  static Configuration load(const Logger& logger, const Origin& origin = Origin::process());

  const std::string& text(Parameter parameter) const;
  bool flag(Parameter parameter) const;
  int64_t integer(Parameter parameter) const;
  size_t bytes(Parameter parameter) const;
  Duration duration(Parameter parameter) const;  // Duration::max() for "off"
  Source source(Parameter parameter) const;
  bool is_set(Parameter parameter) const { return source(parameter) != Source::built_in; }

 private:
  struct Value {
    std::string text;
    int64_t number = 0;
    Source source = Source::built_in;
  };
  std::vector<Value> values_;
};

}  // namespace sluice
