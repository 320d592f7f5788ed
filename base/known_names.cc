// SPDX-License-Identifier: Apache-2.0
#include "base/known_names.h"

#include <algorithm>

#include "base/config.h"
#include "base/edit_distance.h"

namespace sluice {
namespace {

// Right names that are not in our table: NCCL's own (2.30) of the families in which slips are
// looked for.
constexpr const char* kOtherNames[] = {
    "NCCL_IBEXT_DISABLE",
    "NCCL_IB_ADAPTIVE_ROUTING",
    "NCCL_IB_ADDR_FAMILY",
    "NCCL_IB_ADDR_RANGE",
    "NCCL_IB_AR_THRESHOLD",
    "NCCL_IB_CUDA_SUPPORT",
    "NCCL_IB_DATA_DIRECT",
    "NCCL_IB_DEVICE_PCI_ORDER",
    "NCCL_IB_DISABLE",
    "NCCL_IB_ECE_ENABLE",
    "NCCL_IB_FIFO_TC",
    "NCCL_IB_GDR_FLUSH_DISABLE",
    "NCCL_IB_GDR_LEVEL",
    "NCCL_IB_GID_INDEX",
    "NCCL_IB_HCA",
    "NCCL_IB_IS_GLOBAL",
    "NCCL_IB_MERGE_NICS",
    "NCCL_IB_MERGE_VFS",
    "NCCL_IB_OOO_RQ",
    "NCCL_IB_PCI_RELAXED_ORDERING",
    "NCCL_IB_PKEY",
    "NCCL_IB_PREPOST_RECEIVE_WORK_REQUESTS",
    "NCCL_IB_QPS_PER_CONNECTION",
    "NCCL_IB_QUERY_PORT_SPEED",
    "NCCL_IB_RECEIVER_SIDE_MATCHING_SCHEME",
    "NCCL_IB_RETRY_CNT",
    "NCCL_IB_RETURN_ASYNC_EVENTS",
    "NCCL_IB_ROCE_VERSION_NUM",
    "NCCL_IB_ROUTABLE_FLID_GID_INDEX",
    "NCCL_IB_SPLIT_DATA_ON_QPS",
    "NCCL_IB_SUBNET_AWARE_ROUTING",
    "NCCL_IB_SUBNET_PREFIX_LEN",
    "NCCL_IB_TIMEOUT",
    "NCCL_IB_USE_INLINE",
    "NCCL_IB_WARN_RAIL_LOCAL",
    "NCCL_SHARP_COLL_TRACE",
    "NCCL_SHARP_DISABLE_ALLGATHER",
    "NCCL_SHARP_DISABLE_REDUCE_SCATTER",
    "NCCL_SHARP_GROUP_SIZE_THRESH",
    "NCCL_SHARP_MAX_COMMS",
    "NCCL_SHARP_V3_DATATYPES",
    "NCCL_SOCKET_INLINE",
    "NCCL_SOCKET_MIN_TASKSIZE",
    "NCCL_SOCKET_POLL_TIMEOUT_MSEC",
};

// Whole families that are somebody else's.
constexpr std::string_view kOtherPrefixes[] = {
    "NCCL_IB_RESILIENCY_", "NCCL_IB_MQP_RETRY_",  // many names, changing from release to release
    "SLUICE_PERF_",        "SLUICE_TRAIN_",
    "SLUICE_TEST_",        "SLUICE_BUILD_",  // our tools and scripts
};

struct Nearest {
  std::string_view name;
  size_t distance = 0;
};

Nearest nearest_of(std::string_view name, std::string_view prefix) {
  Nearest nearest;
  const auto consider = [&](std::string_view candidate) {
    if (!candidate.starts_with(prefix)) return;
    const size_t distance = edit_distance(name, candidate);
    if (nearest.name.empty() || distance < nearest.distance) nearest = {candidate, distance};
  };
  for (const ParameterInfo& info : parameter_table()) consider(info.name);
  for (const char* other : kOtherNames) consider(other);
  return nearest;
}

bool is_right(std::string_view name) {
  for (const ParameterInfo& info : parameter_table()) {
    if (name == info.name) return true;
  }
  for (const char* other : kOtherNames) {
    if (name == other) return true;
  }
  return std::any_of(std::begin(kOtherPrefixes), std::end(kOtherPrefixes),
                     [name](std::string_view prefix) { return name.starts_with(prefix); });
}

// NCCL grows new names with each release, so only a close miss may be called a slip; short names
// lie close to each other by nature.
size_t slips_allowed(std::string_view name) {
  constexpr size_t kFamily = sizeof("NCCL_IB_") - 1;
  const size_t own_part = name.size() > kFamily ? name.size() - kFamily : 0;
  if (own_part <= 4) return 1;
  return own_part <= 10 ? 2 : 3;
}

}  // namespace

NameCheck check_name(std::string_view name) {
  const bool nccl = name.starts_with("NCCL_");
  // A slip within "SLUICE" itself is looked for among names that begin alike.
  const bool nearly_ours = name.starts_with("SLU") || name.starts_with("SUL");
  if ((!nccl && !nearly_ours) || is_right(name)) return {};
  const bool ours = name.starts_with("SLUICE_");
  const Nearest nearest = nearest_of(name, nccl ? "NCCL_" : "SLUICE_");
  const size_t allowed = ours ? std::max<size_t>(3, name.size() / 3) : slips_allowed(name);
  if (nearest.distance <= allowed) return {NameVerdict::misspelt, std::string(nearest.name)};
  if (ours) return {NameVerdict::unknown, std::string(nearest.name)};
  return {};
}

}  // namespace sluice
