// SPDX-License-Identifier: Apache-2.0
#include "sharp/wire/types.h"

namespace sluice::sharp {

const char* name_of(DataType type) {
  switch (type) {
    case DataType::int8:
      return "int8";
    case DataType::uint8:
      return "uint8";
    case DataType::int32:
      return "int32";
    case DataType::uint32:
      return "uint32";
    case DataType::int64:
      return "int64";
    case DataType::uint64:
      return "uint64";
    case DataType::float16:
      return "float16";
    case DataType::float32:
      return "float32";
    case DataType::float64:
      return "float64";
    case DataType::bfloat16:
      return "bfloat16";
    case DataType::float8_e4m3:
      return "float8_e4m3";
    case DataType::float8_e5m2:
      return "float8_e5m2";
  }
  return "unknown type";
}

const char* name_of(ReduceOperator reduce_operator) {
  switch (reduce_operator) {
    case ReduceOperator::sum:
      return "sum";
    case ReduceOperator::product:
      return "prod";
    case ReduceOperator::max:
      return "max";
    case ReduceOperator::min:
      return "min";
  }
  return "unknown operator";
}

const char* name_of(Collective collective) {
  switch (collective) {
    case Collective::allreduce:
      return "allreduce";
    case Collective::gather:
      return "allgather";
    case Collective::scatter:
      return "reduce-scatter";
    case Collective::none:
      return "nothing";
  }
  return "unknown collective";
}

}  // namespace sluice::sharp
