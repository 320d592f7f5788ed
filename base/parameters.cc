// SPDX-License-Identifier: Apache-2.0
// The table of all parameters: the one place where a name, a default, a range and a sentence are
// written. Defaults equal those of transport::Settings and sharp::ClientSettings (tests/base checks
// it). A default that is another parameter's name means: as that one.
#include <array>

#include "base/config.h"

namespace sluice {
namespace {

constexpr int64_t kKi = 1 << 10;
constexpr int64_t kMi = 1 << 20;
constexpr int64_t kSecond = 1000;
constexpr int64_t kHour = 3600 * kSecond;

using enum Parameter;
using enum ParameterType;

constexpr std::array<ParameterInfo, static_cast<size_t>(Parameter::count_)> kTable = {{
    {nccl_socket_ifname, "NCCL_SOCKET_IFNAME", text, "", 0, 0, "",
     "Interfaces to use: prefixes, comma-separated; leading ^ excludes, = matches whole names."},
    {nccl_socket_family, "NCCL_SOCKET_FAMILY", choice, "", 0, 0, "AF_INET,AF_INET6",
     "Address family; empty takes both, IPv4 first."},
    {nccl_socket_nthreads, "NCCL_SOCKET_NTHREADS", integer, "-2", -2, 16, "",
     "Helper threads' worth of streams per tcp connection: streams are this times "
     "NCCL_NSOCKS_PERTHREAD; -2 chooses."},
    {nccl_nsocks_perthread, "NCCL_NSOCKS_PERTHREAD", integer, "-2", -2, 64, "",
     "Streams per helper thread; -2 chooses. The product with NCCL_SOCKET_NTHREADS is at most 64."},
    {nccl_socket_retry_cnt, "NCCL_SOCKET_RETRY_CNT", integer, "34", 0, 100000, "",
     "How often a refused connection is tried again."},
    {nccl_socket_retry_sleep_msec, "NCCL_SOCKET_RETRY_SLEEP_MSEC", integer, "100", 1, 60 * kSecond,
     "", "Milliseconds before the first new try; each further pause grows by as much."},
    {nccl_ib_sl, "NCCL_IB_SL", integer, "-1", -1, 15, "",
     "InfiniBand service level, taken verbatim where lanes are not in use; -1 leaves it to the "
     "communicator."},
    {nccl_ib_tc, "NCCL_IB_TC", integer, "-1", -1, 255, "",
     "Traffic class byte, taken verbatim where lanes are not in use; -1 leaves it to the "
     "communicator."},
    {nccl_sharp_disable, "NCCL_SHARP_DISABLE", flag, "0", 0, 1, "",
     "1 turns in-network reduction off."},
    {sluice_config, "SLUICE_CONFIG", text, "", 0, 0, "",
     "File with further settings, NAME=VALUE lines; every other source goes before it."},
    {sluice_transport, "SLUICE_TRANSPORT", choice, "auto", 0, 0, "auto,tcp,shm",
     "Transport of a connection; auto takes shm on the same host, else tcp."},
    {sluice_cma, "SLUICE_CMA", flag, "1", 0, 1, "",
     "Whether shm may copy straight between processes (process_vm_writev); else through a ring."},
    {sluice_shm_ring_bytes, "SLUICE_SHM_RING_BYTES", bytes, "1M", 64 * kKi, 64 * kMi, "",
     "Shared memory ring of an shm connection, each direction."},
    {sluice_socket_buffer, "SLUICE_SOCKET_BUFFER", bytes, "0", 0, 1024 * kMi, "",
     "Kernel buffers of each tcp stream; 0 leaves them to the kernel's auto-tuning."},
    {sluice_tcp_congestion, "SLUICE_TCP_CONGESTION", text, "", 0, 0, "",
     "Congestion control of the tcp streams, as the kernel names it (cubic, bbr, dctcp); empty: "
     "the "
     "kernel's default."},
    {sluice_connect_timeout, "SLUICE_CONNECT_TIMEOUT", duration, "30s", 10, kHour, "",
     "Time for a connection, or for a group of in-network reduction, to come about."},
    {sluice_accept_timeout, "SLUICE_ACCEPT_TIMEOUT", duration, "SLUICE_CONNECT_TIMEOUT", 10, kHour,
     "off", "Time that accept waits for a peer from the first call that found nobody."},
    {sluice_peer_timeout, "SLUICE_PEER_TIMEOUT", duration, "20s", 100, kHour, "off",
     "Silence after which a peer counts as lost."},
    {sluice_lane, "SLUICE_LANE", integer, "-1", -1, 7, "",
     "Lane of this job's traffic; -1 lets the communicator or the site's policy choose."},
    {sluice_agg, "SLUICE_AGG", text, "", 0, 0, "",
     "Aggregation nodes, a tree for each rail: host:port,... or "
     "root:port(leaf:port,leaf:port),...; "
     "rank 0's value holds for the group."},
    {sluice_manager, "SLUICE_MANAGER", text, "", 0, 0, "",
     "Aggregation managers, host:port,...; rank 0 asks them for a tree before it takes one of "
     "SLUICE_AGG. With neither there is no in-network reduction."},
    {sluice_job, "SLUICE_JOB", text, "", 0, 0, "",
     "Name of the job, for logs and the manager; empty: SLURM_JOB_ID, PBS_JOBID, LSB_JOBID or "
     "JOB_ID, whichever the scheduler has set."},
    {sluice_tenant, "SLUICE_TENANT", text, "", 0, 0, "",
     "Whose quota the manager charges the job's trees to."},
    {sluice_priority, "SLUICE_PRIORITY", integer, "0", -100, 100, "",
     "Priority of the job's trees at the manager; a higher one may take the tree of a lower."},
    {sluice_chunk_size, "SLUICE_CHUNK_SIZE", bytes, "64K", 4 * kKi, 4 * kMi, "",
     "Unit of streaming through an aggregation node; rank 0's value holds for the group."},
    {sluice_window, "SLUICE_WINDOW", integer, "16", 1, 256, "",
     "Chunks in flight per group and class; rank 0's value holds for the group."},
    {sluice_latency_threshold, "SLUICE_LATENCY_THRESHOLD", bytes, "4K", 0, 4 * kKi, "",
     "Up to this size a reduction is one message; larger ones stream."},
    {sluice_precision, "SLUICE_PRECISION", choice, "compact", 0, 0, "compact,exact",
     "Where sums of 16- and 8-bit floats are rounded: compact once at each level of the tree, "
     "exact "
     "once in all; rank 0's value holds for the group."},
    {sluice_verify, "SLUICE_VERIFY", choice, "off", 0, 0, "off,sample,all",
     "Which results of in-network reduction are checked against the ranks' inputs; rank 0's value "
     "holds for the group."},
    {sluice_fallback, "SLUICE_FALLBACK", flag, "1", 0, 1, "",
     "Whether the ranks go on among themselves when their tree dies; 0: that is an error."},
    {sluice_sharp_backend, "SLUICE_SHARP_BACKEND", choice, "sluice", 0, 0, "sluice,libsharp",
     "Who reduces in the network: sluice's own nodes, or SHARP switches through NVIDIA's library."},
    {sluice_sharp_library, "SLUICE_SHARP_LIBRARY", text, "", 0, 0, "",
     "File of libsharp_coll; empty: HPCX_SHARP_DIR, the loader's path and /opt/mellanox are "
     "searched."},
}};

constexpr bool table_is_in_order() {
  for (size_t i = 0; i < kTable.size(); ++i) {
    if (static_cast<size_t>(kTable[i].parameter) != i) return false;
  }
  return true;
}
static_assert(table_is_in_order(), "one row per Parameter, in the enumeration's order");

}  // namespace

std::span<const ParameterInfo> parameter_table() {
  return kTable;
}

const ParameterInfo& info_of(Parameter parameter) {
  return kTable[static_cast<size_t>(parameter)];
}

}  // namespace sluice
