// SPDX-License-Identifier: Apache-2.0
// The symbols that NCCL looks up. plugin/exports.map lets nothing else out.
#include "plugin/abi/collnet_table_builder.h"
#include "plugin/abi/table_builder.h"

#define SLUICE_EXPORT __attribute__((visibility("default")))

// A macro because the names carry the version.
#define SLUICE_EXPORT_TABLES(version)                                                         \
  extern SLUICE_EXPORT const sluice::abi::Abi<version>::Net ncclNetPlugin_v##version;         \
  constinit const sluice::abi::Abi<version>::Net ncclNetPlugin_v##version =                   \
      sluice::plugin::abi_tables::make_net_table<version>();                                  \
  extern SLUICE_EXPORT const sluice::abi::Abi<version>::CollNet ncclCollNetPlugin_v##version; \
  constinit const sluice::abi::Abi<version>::CollNet ncclCollNetPlugin_v##version =           \
      sluice::plugin::abi_tables::make_collnet_table<version>();

extern "C" {

SLUICE_EXPORT_TABLES(6)
SLUICE_EXPORT_TABLES(7)
SLUICE_EXPORT_TABLES(8)
SLUICE_EXPORT_TABLES(9)
SLUICE_EXPORT_TABLES(10)
SLUICE_EXPORT_TABLES(11)
SLUICE_EXPORT_TABLES(12)

}  // extern "C"
