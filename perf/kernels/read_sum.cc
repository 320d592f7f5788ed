// SPDX-License-Identifier: Apache-2.0
#include "perf/kernels/read_sum.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "perf/kernels/read_sum.cc"
#include <hwy/foreach_target.h>
// foreach_target.h comes before the headers that are compiled per target.
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace sluice::perf::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

// Regions of `words`, in pieces of `piece` words of each.
uint64_t read_words(const uint64_t* data, size_t words, size_t count, size_t piece) {
  const hn::ScalableTag<uint64_t> d;
  const size_t n = hn::Lanes(d);
  auto s0 = hn::Zero(d);
  auto s1 = s0, s2 = s0, s3 = s0, s4 = s0, s5 = s0, s6 = s0, s7 = s0;
  for (size_t at = 0; at < words; at += piece) {
    for (size_t region = 0; region < count; ++region) {
      const uint64_t* word = data + region * words + at;
      const uint64_t* const end = word + piece;
      do {
        s0 = hn::Add(s0, hn::LoadU(d, word));
        s1 = hn::Add(s1, hn::LoadU(d, word + n));
        s2 = hn::Add(s2, hn::LoadU(d, word + 2 * n));
        s3 = hn::Add(s3, hn::LoadU(d, word + 3 * n));
        s4 = hn::Add(s4, hn::LoadU(d, word + 4 * n));
        s5 = hn::Add(s5, hn::LoadU(d, word + 5 * n));
        s6 = hn::Add(s6, hn::LoadU(d, word + 6 * n));
        s7 = hn::Add(s7, hn::LoadU(d, word + 7 * n));
        word += 8 * n;
      } while (word != end);
    }
  }
  const auto sum =
      hn::Add(hn::Add(hn::Add(s0, s1), hn::Add(s2, s3)), hn::Add(hn::Add(s4, s5), hn::Add(s6, s7)));
  return hn::GetLane(hn::SumOfLanes(d, sum));
}

uint64_t in_turns(const uint64_t* data, size_t words, size_t count) {
  return read_words(data, words, count, 8 * hn::Lanes(hn::ScalableTag<uint64_t>()));
}
uint64_t one_by_one(const uint64_t* data, size_t words, size_t count) {
  return read_words(data, words * count, 1, words * count);
}

}  // namespace
}  // namespace sluice::perf::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sluice::perf {
namespace {
HWY_EXPORT(one_by_one);
HWY_EXPORT(in_turns);
}  // namespace

uint64_t read_sum(const void* data, size_t bytes, size_t count) {
  return HWY_DYNAMIC_DISPATCH(one_by_one)(static_cast<const uint64_t*>(data),
                                          bytes / sizeof(uint64_t), count);
}

uint64_t read_sum_in_turns(const void* data, size_t bytes, size_t count) {
  return HWY_DYNAMIC_DISPATCH(in_turns)(static_cast<const uint64_t*>(data),
                                        bytes / sizeof(uint64_t), count);
}

}  // namespace sluice::perf
#endif  // HWY_ONCE
