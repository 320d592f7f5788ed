// SPDX-License-Identifier: Apache-2.0
// What an in-network reduction works on: element types and operators, numbered as NCCL numbers them
// (nccl.h), because the numbers travel on the wire.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sluice::sharp {

enum class DataType : uint8_t {
  int8 = 0,
  uint8 = 1,
  int32 = 2,
  uint32 = 3,
  int64 = 4,
  uint64 = 5,
  float16 = 6,
  float32 = 7,
  float64 = 8,
  bfloat16 = 9,
  float8_e4m3 = 10,
  float8_e5m2 = 11,
};
inline constexpr int kDataTypes = 12;

enum class ReduceOperator : uint8_t { sum = 0, product = 1, max = 2, min = 3 };
inline constexpr int kReduceOperators = 4;

constexpr size_t size_of(DataType type) {
  switch (type) {
    case DataType::int8:
    case DataType::uint8:
    case DataType::float8_e4m3:
    case DataType::float8_e5m2:
      return 1;
    case DataType::float16:
    case DataType::bfloat16:
      return 2;
    case DataType::int32:
    case DataType::uint32:
    case DataType::float32:
      return 4;
    case DataType::int64:
    case DataType::uint64:
    case DataType::float64:
      return 8;
  }
  return 0;
}

// What a chunk is for. `gather` and `scatter` have a focus, one rank of the group.
enum class Collective : uint8_t {
  allreduce = 0,  // all send, all receive the reduction
  gather = 1,     // the focus sends, all receive; the others' empty chunks are their permission
  scatter = 2,    // all send, the focus receives; the others' empty results are their permission
  none = 3,       // nobody sends or receives: keeps a sequence whole after a recovery
};
inline constexpr int kCollectives = 4;

const char* name_of(DataType type);
const char* name_of(ReduceOperator reduce_operator);
const char* name_of(Collective collective);

}  // namespace sluice::sharp
