// SPDX-License-Identifier: Apache-2.0
// Settings of the libsharp back end: the variables that users of nccl-rdma-sharp-plugins set go on
// to work. docs/sharp.md lists them.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/log.h"

namespace sluice::sharp::libsharp {

struct Settings {
  // Of the plugin.
  std::string sharp_library;  // file of libsharp_coll; empty: searched for
  std::string device;         // NCCL's name of an InfiniBand device; empty: the library chooses
  Duration connect_timeout = std::chrono::seconds(30);  // for meeting, and again for setting up

  // Of the environment.
  bool disabled = false;         // NCCL_SHARP_DISABLE
  int group_size_threshold = 2;  // NCCL_SHARP_GROUP_SIZE_THRESH: smaller groups are refused
  bool newer_data_types = true;  // NCCL_SHARP_V3_DATATYPES: bf16 and the 8-bit integers
  bool allgather = true;         // NCCL_SHARP_DISABLE_ALLGATHER
  bool reduce_scatter = true;    // NCCL_SHARP_DISABLE_REDUCE_SCATTER
  bool trace = false;            // NCCL_SHARP_COLL_TRACE: rank 0 logs each operation
  // SHARP_COLLNET_OVERLAP_AG: allgather by multicast (true) or streaming reduction (false).
  std::optional<bool> overlap_allgather;
};

using Lookup = std::function<const char*(const char*)>;  // getenv

// The environment's part; a value that makes no sense is warned about and counts as not set.
Settings read_environment(const Lookup& get, const Logger& logger);

// Gives libsharp, which reads the environment itself, the defaults that users of the existing
// plugin know; what is set already stays, except what overlap_allgather decides. As putting
// anything into the environment, not while another thread reads it: called once per connect, before
// libsharp_coll is first loaded.
void prepare_environment(const Settings& settings);

}  // namespace sluice::sharp::libsharp
