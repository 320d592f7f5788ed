// SPDX-License-Identifier: Apache-2.0
// The C edge: what every entry of NCCL's tables goes through. Any thread.
#pragma once

#include <cstddef>
#include <limits>
#include <new>
#include <type_traits>
#include <utility>

#include "plugin/result_code.h"

namespace sluice::plugin::edge {

// Runs an entry's body (giving a Status) and turns its outcome into NCCL's code. Nothing of ours
// throws; what the standard library may throw (no memory) ends here.
template <typename Body>
ncclResult_t enter(Body&& body) noexcept {
  try {
    return code_of(std::forward<Body>(body)());
  } catch (const std::bad_alloc&) {
    return ncclSystemError;
  } catch (...) {
    return ncclInternalError;
  }
}

// Writes a call's result where NCCL wants it; NCCL's pointer is null until then.
template <typename Value>
Status store(Result<Value> result, void** where) {
  if (!result) return fail(std::move(result).error());
  *where = *result;
  return {};
}

// NCCL's sizes are int in old versions.
template <typename Integer>
constexpr bool is_negative(Integer size) {
  if constexpr (std::is_signed_v<Integer>) return size < 0;
  return false;
}

// test() reports int sizes in all versions.
constexpr int clamp_size(size_t size) {
  constexpr auto kMost = static_cast<size_t>(std::numeric_limits<int>::max());
  return static_cast<int>(size < kMost ? size : kMost);
}

// The request is the last argument of a post; newer versions put a profiler handle before it.
template <typename First, typename... Rest>
constexpr auto last_of(First first, Rest... rest) {
  if constexpr (sizeof...(rest) == 0) {
    return first;
  } else {
    return last_of(rest...);
  }
}

}  // namespace sluice::plugin::edge
