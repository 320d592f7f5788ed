// SPDX-License-Identifier: Apache-2.0
// The loop that all kernels share, for the instruction set being compiled (Highway's
// foreach_target).
//
// A Kernel says what a lane and an accumulator are:
//   T                              lane type as it lies in memory
//   Accumulator                    what one vector of lanes becomes
//   start(D, vector)               the first input
//   combine(D, accumulator, vector)
//   finish(D, accumulator)         back to a vector of lanes
// Eight vectors go through all inputs together: one pass over memory, and the latency of the
// operator is hidden. The tail goes through a buffer of one vector, so that a lane's result never
// depends on its place.

#if defined(SLUICE_SHARP_REDUCE_LOOP_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SLUICE_SHARP_REDUCE_LOOP_INL_H_
#undef SLUICE_SHARP_REDUCE_LOOP_INL_H_
#else
#define SLUICE_SHARP_REDUCE_LOOP_INL_H_
#endif

#include <hwy/highway.h>

#include <cstddef>
#include <cstring>

HWY_BEFORE_NAMESPACE();
namespace sluice::sharp::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class Kernel>
struct Loop {
  using T = typename Kernel::T;
  using D = hn::ScalableTag<T>;
  using Accumulator = typename Kernel::Accumulator;

  static const T* input(const void* const* inputs, int index) {
    return static_cast<const T*>(inputs[index]);
  }

  static HWY_INLINE void eight(T* out, const void* const* inputs, int count, size_t at) {
    const D d;
    const size_t n = hn::Lanes(d);
    const T* first = input(inputs, 0) + at;
    Accumulator a0 = Kernel::start(d, hn::LoadU(d, first));
    Accumulator a1 = Kernel::start(d, hn::LoadU(d, first + n));
    Accumulator a2 = Kernel::start(d, hn::LoadU(d, first + 2 * n));
    Accumulator a3 = Kernel::start(d, hn::LoadU(d, first + 3 * n));
    Accumulator a4 = Kernel::start(d, hn::LoadU(d, first + 4 * n));
    Accumulator a5 = Kernel::start(d, hn::LoadU(d, first + 5 * n));
    Accumulator a6 = Kernel::start(d, hn::LoadU(d, first + 6 * n));
    Accumulator a7 = Kernel::start(d, hn::LoadU(d, first + 7 * n));
    for (int index = 1; index < count; ++index) {
      const T* next = input(inputs, index) + at;
      a0 = Kernel::combine(d, a0, hn::LoadU(d, next));
      a1 = Kernel::combine(d, a1, hn::LoadU(d, next + n));
      a2 = Kernel::combine(d, a2, hn::LoadU(d, next + 2 * n));
      a3 = Kernel::combine(d, a3, hn::LoadU(d, next + 3 * n));
      a4 = Kernel::combine(d, a4, hn::LoadU(d, next + 4 * n));
      a5 = Kernel::combine(d, a5, hn::LoadU(d, next + 5 * n));
      a6 = Kernel::combine(d, a6, hn::LoadU(d, next + 6 * n));
      a7 = Kernel::combine(d, a7, hn::LoadU(d, next + 7 * n));
    }
    hn::StoreU(Kernel::finish(d, a0), d, out + at);
    hn::StoreU(Kernel::finish(d, a1), d, out + at + n);
    hn::StoreU(Kernel::finish(d, a2), d, out + at + 2 * n);
    hn::StoreU(Kernel::finish(d, a3), d, out + at + 3 * n);
    hn::StoreU(Kernel::finish(d, a4), d, out + at + 4 * n);
    hn::StoreU(Kernel::finish(d, a5), d, out + at + 5 * n);
    hn::StoreU(Kernel::finish(d, a6), d, out + at + 6 * n);
    hn::StoreU(Kernel::finish(d, a7), d, out + at + 7 * n);
  }

  static HWY_INLINE void one(T* out, const void* const* inputs, int count, size_t at) {
    const D d;
    Accumulator accumulator = Kernel::start(d, hn::LoadU(d, input(inputs, 0) + at));
    for (int index = 1; index < count; ++index) {
      accumulator = Kernel::combine(d, accumulator, hn::LoadU(d, input(inputs, index) + at));
    }
    hn::StoreU(Kernel::finish(d, accumulator), d, out + at);
  }

  static HWY_INLINE void tail(T* out, const void* const* inputs, int count, size_t at,
                              size_t left) {
    const D d;
    HWY_ALIGN T buffer[hn::MaxLanes(D())] = {};
    std::memcpy(buffer, input(inputs, 0) + at, left * sizeof(T));
    Accumulator accumulator = Kernel::start(d, hn::Load(d, buffer));
    for (int index = 1; index < count; ++index) {
      std::memcpy(buffer, input(inputs, index) + at, left * sizeof(T));
      accumulator = Kernel::combine(d, accumulator, hn::Load(d, buffer));
    }
    hn::Store(Kernel::finish(d, accumulator), d, buffer);
    std::memcpy(out + at, buffer, left * sizeof(T));
  }

  // `lanes` in units of T.
  static void run(void* out, const void* const* inputs, int count, size_t lanes) {
    const size_t n = hn::Lanes(D());
    T* to = static_cast<T*>(out);
    size_t at = 0;
    for (; lanes - at >= 8 * n; at += 8 * n) eight(to, inputs, count, at);
    for (; lanes - at >= n; at += n) one(to, inputs, count, at);
    if (at < lanes) tail(to, inputs, count, at, lanes - at);
  }
};

}  // namespace sluice::sharp::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // SLUICE_SHARP_REDUCE_LOOP_INL_H_
