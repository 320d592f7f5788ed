// SPDX-License-Identifier: Apache-2.0
#include "sharp/libsharp/mapping.h"

namespace sluice::sharp::libsharp {
namespace {

// Present since the first SHARP; the others must be asked for.
bool is_basic(DataType type) {
  switch (type) {
    case DataType::int32:
    case DataType::uint32:
    case DataType::int64:
    case DataType::uint64:
    case DataType::float16:
    case DataType::float32:
    case DataType::float64:
      return true;
    default:
      return false;
  }
}

}  // namespace

std::optional<sharp_datatype> sharp_type_of(DataType type) {
  switch (type) {
    case DataType::int8:
      return SHARP_DTYPE_INT8;
    case DataType::uint8:
      return SHARP_DTYPE_UINT8;
    case DataType::int32:
      return SHARP_DTYPE_INT;
    case DataType::uint32:
      return SHARP_DTYPE_UNSIGNED;
    case DataType::int64:
      return SHARP_DTYPE_LONG;
    case DataType::uint64:
      return SHARP_DTYPE_UNSIGNED_LONG;
    case DataType::float16:
      return SHARP_DTYPE_FLOAT_SHORT;
    case DataType::float32:
      return SHARP_DTYPE_FLOAT;
    case DataType::float64:
      return SHARP_DTYPE_DOUBLE;
    case DataType::bfloat16:
      return SHARP_DTYPE_BFLOAT16;
    case DataType::float8_e4m3:
    case DataType::float8_e5m2:
      break;
  }
  return std::nullopt;
}

std::optional<sharp_reduce_op> sharp_operator_of(ReduceOperator reduce_operator) {
  switch (reduce_operator) {
    case ReduceOperator::sum:
      return SHARP_OP_SUM;
    case ReduceOperator::max:
      return SHARP_OP_MAX;
    case ReduceOperator::min:
      return SHARP_OP_MIN;
    case ReduceOperator::product:
      break;
  }
  return std::nullopt;
}

bool Capabilities::supports(DataType type, ReduceOperator reduce_operator) const {
  const auto sharp_type = sharp_type_of(type);
  if (!sharp_type || !sharp_operator_of(reduce_operator)) return false;
  return is_basic(type) || (data_types >> static_cast<unsigned>(*sharp_type) & 1) != 0;
}

const char* hint_for(int status) {
  switch (status) {
    case SHARP_COLL_EQUOTA:
    case SHARP_COLL_ENO_RESOURCE:
    case SHARP_COLL_EGROUP_ALLOC:
      return "the fabric's aggregation resources are used up; ask for less by "
             "SHARP_COLL_JOB_QUOTA_*, or wait for another job to end";
    case SHARP_COLL_ELOCK_FAILED:
    case SHARP_COLL_ELOCK_DENIED:
      return "another job holds the switches' streaming aggregation; SHARP_COLL_ENABLE_SAT=0 does "
             "without";
    case SHARP_COLL_ESESS_INIT:
    case SHARP_COLL_EJOB_CREATE:
      return "is the aggregation manager (sharp_am) running, beside the subnet manager?";
    case SHARP_COLL_EDEV:
      return "no InfiniBand port that it can use";
    case SHARP_COLL_ENOTREE:
    case SHARP_COLL_ETREE_INFO:
    case SHARP_COLL_ECONN_TREE:
      return "no aggregation tree reaches these hosts";
    case SHARP_COLL_EOOB:
      return "the ranks lost each other";
    default:
      return "";
  }
}

std::string device_list(std::string_view device) {
  constexpr std::string_view kDataDirect = "_dma";
  std::string list;
  while (!device.empty()) {
    const size_t end = device.find('+');
    std::string_view name = device.substr(0, end);
    device = end == std::string_view::npos ? "" : device.substr(end + 1);
    if (name.ends_with(kDataDirect)) name.remove_suffix(kDataDirect.size());
    if (name.empty()) continue;
    if (!list.empty()) list += ',';
    list += name;
    if (name.find(':') == std::string_view::npos) list += ":1";
  }
  return list;
}

}  // namespace sluice::sharp::libsharp
