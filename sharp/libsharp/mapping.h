// SPDX-License-Identifier: Apache-2.0
// Sluice's types and operators in SHARP's terms, and what its errors mean to a site. Pure.
//
// What SHARP refuses: products, fp8, and, where the switches are older than SHARP 3's data types,
// bf16 and the 8-bit integers. Source: nccl-rdma-sharp-plugins and UCC agree on it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "sharp/libsharp/api.h"
#include "sharp/wire/types.h"

namespace sluice::sharp::libsharp {

std::optional<sharp_datatype> sharp_type_of(DataType type);
std::optional<sharp_reduce_op> sharp_operator_of(ReduceOperator reduce_operator);

// The largest message that every release takes in one operation: 512 MiB (up to SHARP 3.6;
// streaming aggregation itself ends 32 bytes below 1 GiB). Report it to NCCL as maxCollBytes.
inline constexpr size_t kMaxOperationBytes = size_t{512} << 20;

// What a rank's library and switches can do, or all ranks' together.
struct Capabilities {
  uint64_t data_types = 0;  // bit n: sharp_datatype n
  bool allgather = false;
  bool reduce_scatter = false;

  bool supports(DataType type, ReduceOperator reduce_operator) const;
};

// What to do about a status of libsharp_coll; "" when there is nothing to say.
const char* hint_for(int status);

// "mlx5_0:1,mlx5_1:1" of NCCL's device name: "mlx5_0", fused "mlx5_0+mlx5_1", data direct
// "mlx5_0_dma"; a port may be named ("mlx5_0:2"). "" stays "": the library chooses.
std::string device_list(std::string_view device);

}  // namespace sluice::sharp::libsharp
