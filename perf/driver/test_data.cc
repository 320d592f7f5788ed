// SPDX-License-Identifier: Apache-2.0
#include "perf/driver/test_data.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "perf/driver/data_type.h"
#include "perf/driver/kernels.h"

namespace sluice::perf {
namespace {

constexpr uint64_t mix(uint64_t value) {  // SplitMix64
  value += 0x9e3779b97f4a7c15u;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9u;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebu;
  return value ^ (value >> 31);
}

constexpr uint32_t multiplier_of(int rank) {
  return static_cast<uint32_t>(mix(static_cast<uint64_t>(rank))) | 1u;
}

// Kernels count indices in 32 bits; the rest of the index goes into the seed.
template <typename Use>
void for_each_range(uint64_t seed, uint64_t first, size_t count, Use&& use) {
  size_t done = 0;
  while (done < count) {
    const uint64_t at = first + done;
    const size_t size = std::min<uint64_t>(count - done, (uint64_t{1} << 32) - (at & 0xffffffffu));
    use(static_cast<uint32_t>(mix(seed ^ mix(at >> 32))), static_cast<uint32_t>(at), done, size);
    done += size;
  }
}

}  // namespace

void fill(const Pattern& pattern, int rank, uint64_t first, size_t count, void* out) {
  const FillKernel kernel = kernels().fill[pattern.type][pattern.op];
  const size_t bytes = info_of(pattern.type).bytes;
  for_each_range(
      pattern.seed, first, count, [&](uint32_t seed, uint32_t index, size_t done, size_t size) {
        kernel(static_cast<std::byte*>(out) + done * bytes, seed, multiplier_of(rank), index, size);
      });
}

size_t count_wrong(const Pattern& pattern, int ranks, int roundings, uint64_t first, size_t count,
                   const void* result) {
  std::array<uint32_t, kMostRanks> multipliers;
  for (int rank = 0; rank < ranks; ++rank) {
    multipliers[static_cast<size_t>(rank)] = multiplier_of(rank);
  }
  const CheckKernel kernel = kernels().check[pattern.type][pattern.op];
  const double bound = error_bound(pattern.type, pattern.op, ranks, roundings);
  const size_t bytes = info_of(pattern.type).bytes;
  size_t wrong = 0;
  for_each_range(pattern.seed, first, count,
                 [&](uint32_t seed, uint32_t index, size_t done, size_t size) {
                   wrong += kernel(static_cast<const std::byte*>(result) + done * bytes, seed,
                                   multipliers.data(), ranks, index, size, bound);
                 });
  return wrong;
}

double error_bound(ncclDataType_t type, ncclRedOp_t op, int ranks, int roundings) {
  const TypeInfo& info = info_of(type);
  if (op == ncclMax || op == ncclMin || info.unit_roundoff == 0) return 0;
  const bool is_short = info.bytes < sizeof(float);
  const double of_type = std::log1p(info.unit_roundoff) * (is_short ? roundings : ranks);
  const double of_accumulator = is_short ? std::log1p(0x1p-24) * ranks : 0;
  return (type == ncclFloat64 ? 2 : 1) * std::expm1(of_type + of_accumulator);
}

size_t count_different(const Pattern& pattern, int rank, uint64_t first, size_t count,
                       const void* result) {
  constexpr size_t kPart = 1024;
  const size_t bytes = info_of(pattern.type).bytes;
  std::array<std::byte, kPart * sizeof(uint64_t)> expected;
  const auto* elements = static_cast<const std::byte*>(result);
  size_t different = 0;
  for (size_t done = 0; done < count; done += kPart) {
    const size_t size = std::min(kPart, count - done);
    fill(pattern, rank, first + done, size, expected.data());
    const std::byte* part = elements + done * bytes;
    if (std::memcmp(part, expected.data(), size * bytes) == 0) continue;
    for (size_t index = 0; index < size; ++index) {
      const size_t at = index * bytes;
      different += std::memcmp(part + at, expected.data() + at, bytes) != 0 ? 1 : 0;
    }
  }
  return different;
}

void reduce(ncclDataType_t type, ncclRedOp_t op, void* out, const void* a, const void* b,
            size_t count) {
  kernels().reduce[type][op](out, a, b, count);
}

uint64_t hash_bytes(const void* data, size_t bytes) {
  return kernels().hash(data, bytes);
}

}  // namespace sluice::perf
