// SPDX-License-Identifier: Apache-2.0
// Element types and reduction operators under nccl-tests' names. Thread rule: any.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "plugin/abi/nccl_types.h"

namespace sluice::perf {

struct TypeInfo {
  const char* name;
  ncclDataType_t type;
  size_t bytes;
  double unit_roundoff;  // of the type, 0 for integers
};
struct OperatorInfo {
  const char* name;
  ncclRedOp_t op;
};

std::span<const TypeInfo> all_types();
std::span<const OperatorInfo> all_operators();

const TypeInfo& info_of(ncclDataType_t type);
const OperatorInfo& info_of(ncclRedOp_t op);

// Lists as nccl-tests takes them: one name, several with commas, or "all".
Result<std::vector<TypeInfo>> parse_types(std::string_view text);
Result<std::vector<OperatorInfo>> parse_operators(std::string_view text);

}  // namespace sluice::perf
