// SPDX-License-Identifier: Apache-2.0
#include "sharp/libsharp/settings.h"

#include <cstdlib>
#include <cstring>

namespace sluice::sharp::libsharp {
namespace {

struct Reader {
  const Lookup& get;
  const Logger& logger;

  int number(const char* name, int least, int most, int otherwise) const {
    const char* text = get(name);
    if (text == nullptr || text[0] == '\0') return otherwise;
    char* end = nullptr;
    const long value = std::strtol(text, &end, 0);
    if (*end == '\0' && value >= least && value <= most) return static_cast<int>(value);
    SLUICE_WARN(logger, env, "%s: %s is not a number from %d to %d; %d is used", name, text, least,
                most, otherwise);
    return otherwise;
  }
  bool flag(const char* name, bool otherwise) const {
    return number(name, 0, 1, otherwise ? 1 : 0) != 0;
  }
};

void default_to(const char* name, const char* value) {
  ::setenv(name, value, 0);
}

}  // namespace

Settings read_environment(const Lookup& get, const Logger& logger) {
  const Reader read{get, logger};
  Settings settings;
  settings.disabled = read.flag("NCCL_SHARP_DISABLE", false);
  settings.group_size_threshold = read.number("NCCL_SHARP_GROUP_SIZE_THRESH", 0, 1 << 20, 2);
  settings.newer_data_types = read.number("NCCL_SHARP_V3_DATATYPES", 0, 2, 2) != 0;
  settings.allgather = !read.flag("NCCL_SHARP_DISABLE_ALLGATHER", false);
  settings.reduce_scatter = !read.flag("NCCL_SHARP_DISABLE_REDUCE_SCATTER", false);
  settings.trace = read.flag("NCCL_SHARP_COLL_TRACE", false);
  if (const char* overlap = get("SHARP_COLLNET_OVERLAP_AG"); overlap != nullptr) {
    settings.overlap_allgather = std::strcmp(overlap, "1") == 0;
  }
  return settings;
}

void prepare_environment(const Settings& settings) {
  if (settings.overlap_allgather) {
    ::setenv("SHARP_COLL_ENABLE_MCAST", *settings.overlap_allgather ? "1" : "0", 1);
    ::setenv("SHARP_COLL_ENABLE_SAT", *settings.overlap_allgather ? "0" : "1", 1);
  }
  default_to("SHARP_COLL_ENABLE_SAT", "1");
  // Resources of a group at its creation, not at its first operation, which must not block.
  default_to("SHARP_COLL_NUM_COLL_GROUP_RESOURCE_ALLOC_THRESHOLD", "0");
  // Streaming aggregation that is not to be had shows while the ranks can still refuse.
  default_to("SHARP_COLL_LOCK_ON_COMM_INIT", "1");
  default_to("SHARP_COLL_LOG_LEVEL", "3");
}

}  // namespace sluice::sharp::libsharp
