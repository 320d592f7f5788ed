// SPDX-License-Identifier: Apache-2.0
// Abi<V>: which table layouts NCCL's plugin API version V uses.
#pragma once

#include "plugin/abi/nccl_collnet.h"
#include "plugin/abi/nccl_net.h"

namespace sluice::abi {

template <int Version>
struct Abi;

template <typename NetTable, typename CollNetTable>
struct AbiOf {
  using Net = NetTable;
  using CollNet = CollNetTable;
  using Properties = typename NetTable::Properties;
};

template <>
struct Abi<6> : AbiOf<NetV6, CollNetV6> {};
template <>
struct Abi<7> : AbiOf<NetV7, CollNetV7> {};
template <>
struct Abi<8> : AbiOf<NetV8, CollNetV8> {};
template <>
struct Abi<9> : AbiOf<NetV9, CollNetV9> {};
template <>
struct Abi<10> : AbiOf<NetV10, CollNetV9> {};
template <>
struct Abi<11> : AbiOf<NetV11, CollNetV11> {};
template <>
struct Abi<12> : AbiOf<NetV12, CollNetV12> {};

}  // namespace sluice::abi
