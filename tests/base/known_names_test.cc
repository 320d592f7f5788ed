// SPDX-License-Identifier: Apache-2.0
// False alarms are worse than a missed slip: right names of NCCL and of others stay unmentioned.
#include "base/known_names.h"

#include <gtest/gtest.h>

#include "base/config.h"

namespace sluice {
namespace {

TEST(KnownNames, RightNamesAreFine) {
  for (const ParameterInfo& info : parameter_table()) {
    EXPECT_EQ(check_name(info.name).verdict, NameVerdict::fine) << info.name;
  }
  for (const char* name : {"NCCL_IB_HCA",
                           "NCCL_IB_TIMEOUT",
                           "NCCL_IB_RESILIENCY_PORT_RECOVERY_ACK_TIMEOUT",
                           "NCCL_IB_MQP_RETRY_SLEEP_MSEC",
                           "NCCL_DEBUG",
                           "NCCL_NET",
                           "NCCL_NET_PLUGIN",
                           "NCCL_ALGO",
                           "NCCL_NET_GDR_LEVEL",
                           "NCCL_COLLNET_ENABLE",
                           "NCCL_CONF_FILE",
                           "NCCL_HOSTID",
                           "NCCL_PROTO",
                           "NCCL_SHARP_MAX_COMMS",
                           "NCCL_BUFFSIZE",
                           "NCCL_NSOCKS_PERTHREAD",
                           "NCCL_MIN_NCHANNELS",
                           "NCCL_IBEXT_DISABLE",
                           "NCCL_P2P_LEVEL",
                           "SLUICE_PERF_ROOT",
                           "SLUICE_TEST_PRESETS",
                           "PATH",
                           "SLURM_PROCID",
                           "SLURM_NTASKS",
                           "SLURM_LAUNCH_NODE_IPADDR",
                           "RCCL_SOCKET_IFNAME",
                           "",
                           "_",
                           "UCCL_SOCKET_IFNAME",
                           "NCCL_",
                           "SLUGGISH"}) {
    EXPECT_EQ(check_name(name).verdict, NameVerdict::fine) << name;
  }
}

TEST(KnownNames, NewNamesOfNcclAreFine) {
  for (const char* name : {"NCCL_IB_QUANTUM_ENTANGLEMENT", "NCCL_SOCKET_MAGIC", "NCCL_IB_XYZ"}) {
    EXPECT_EQ(check_name(name).verdict, NameVerdict::fine) << name;
  }
}

TEST(KnownNames, SlipsAreFound) {
  for (const auto& [wrong, right] : {
           std::pair("NCCL_SOCKET_IFNAM", "NCCL_SOCKET_IFNAME"),
           std::pair("NCCL_SOCKET_IF_NAME", "NCCL_SOCKET_IFNAME"),
           std::pair("NCCL_SOCKET_NTHREAD", "NCCL_SOCKET_NTHREADS"),
           std::pair("NCCL_NSOCKS_PER_THREAD", "NCCL_NSOCKS_PERTHREAD"),
           std::pair("NCCL_IB_GID_INDX", "NCCL_IB_GID_INDEX"),
           std::pair("NCCL_IB_HAC", "NCCL_IB_HCA"),
           std::pair("NCCL_SHARP_DISABEL", "NCCL_SHARP_DISABLE"),
           std::pair("SLUICE_AGGS", "SLUICE_AGG"),
           std::pair("SLUICE_LANES", "SLUICE_LANE"),
           std::pair("SLUCIE_AGG", "SLUICE_AGG"),
           std::pair("SLUIC_LANE", "SLUICE_LANE"),
       }) {
    const NameCheck check = check_name(wrong);
    EXPECT_EQ(check.verdict, NameVerdict::misspelt) << wrong;
    EXPECT_EQ(check.nearest, right) << wrong;
  }
}

TEST(KnownNames, OurPrefixIsOursAlone) {
  EXPECT_EQ(check_name("SLUICE_COFFEE_MACHINE").verdict, NameVerdict::unknown);
  EXPECT_EQ(check_name("SLUICE_TIMEOUT").verdict, NameVerdict::unknown);
  EXPECT_EQ(check_name("SLUICE_TIMEOUT").nearest, "SLUICE_PEER_TIMEOUT");
}

}  // namespace
}  // namespace sluice
