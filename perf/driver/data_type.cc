// SPDX-License-Identifier: Apache-2.0
#include "perf/driver/data_type.h"

#include <algorithm>

namespace sluice::perf {
namespace {

constexpr double kFp32 = 0x1p-24;
constexpr TypeInfo kTypes[] = {
    {"int8", ncclInt8, 1, 0},
    {"uint8", ncclUint8, 1, 0},
    {"int32", ncclInt32, 4, 0},
    {"uint32", ncclUint32, 4, 0},
    {"int64", ncclInt64, 8, 0},
    {"uint64", ncclUint64, 8, 0},
    {"half", ncclFloat16, 2, 0x1p-11},
    {"float", ncclFloat32, 4, kFp32},
    {"double", ncclFloat64, 8, 0x1p-53},
    {"bfloat16", ncclBfloat16, 2, 0x1p-8},
    {"f8e4m3", ncclFloat8e4m3, 1, 0x1p-4},
    {"f8e5m2", ncclFloat8e5m2, 1, 0x1p-3},
};
constexpr OperatorInfo kOperators[] = {
    {"sum", ncclSum}, {"prod", ncclProd}, {"max", ncclMax}, {"min", ncclMin}};

template <typename Info, size_t N>
Result<std::vector<Info>> parse(std::string_view text, const Info (&known)[N], const char* what) {
  if (text == "all") return std::vector<Info>(known, known + N);
  std::vector<Info> chosen;
  while (true) {
    const size_t comma = text.find(',');
    const std::string_view name = text.substr(0, comma);
    const auto* found =
        std::find_if(known, known + N, [&](const Info& info) { return info.name == name; });
    if (found == known + N) {
      std::string names;
      for (const Info& info : known) names += std::string(info.name) + ", ";
      return fail(ErrorKind::invalid_argument, "unknown " + std::string(what) + " " +
                                                   std::string(name) + ": expected " + names +
                                                   "or all");
    }
    chosen.push_back(*found);
    if (comma == text.npos) return chosen;
    text.remove_prefix(comma + 1);
  }
}

}  // namespace

std::span<const TypeInfo> all_types() {
  return kTypes;
}
std::span<const OperatorInfo> all_operators() {
  return kOperators;
}

const TypeInfo& info_of(ncclDataType_t type) {
  return *std::find_if(std::begin(kTypes), std::end(kTypes) - 1,
                       [&](const TypeInfo& info) { return info.type == type; });
}
const OperatorInfo& info_of(ncclRedOp_t op) {
  return *std::find_if(std::begin(kOperators), std::end(kOperators) - 1,
                       [&](const OperatorInfo& info) { return info.op == op; });
}

Result<std::vector<TypeInfo>> parse_types(std::string_view text) {
  return parse(text, kTypes, "type");
}
Result<std::vector<OperatorInfo>> parse_operators(std::string_view text) {
  return parse(text, kOperators, "operator");
}

}  // namespace sluice::perf
