// SPDX-License-Identifier: Apache-2.0
// Kernels for the two kinds of fp8 that OCP's "8-bit floating point specification" defines: e5m2,
// the upper half of fp16; and e4m3, which has no infinity and one NaN of each sign.
#include <cstdint>

#include "sharp/reduce/kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "sharp/reduce/byte_floats.cc"
#include <hwy/foreach_target.h>
// foreach_target.h comes before the headers that are compiled per target.
#include "sharp/reduce/widening-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sluice::sharp::HWY_NAMESPACE {
namespace {

// What is too large becomes the greatest finite number.
using E4M3 = SmallFloat<4, 3, 0x7e, 0x7e>;
using E5M2 = SmallFloat<5, 2, 0x7c, 0x7b>;

#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3

// By way of fp16, which the CPU converts. `from` becomes two vectors.
using Shorts = hn::Repartition<uint16_t, Floats>;
using ShortVector = hn::Vec<Shorts>;

HWY_INLINE ShortVector load_shorts(const uint8_t* from) {
  return hn::PromoteTo(Shorts(), load_vector(hn::Rebind<uint8_t, Shorts>(), from));
}
HWY_INLINE void widen_shorts(ShortVector shorts, FloatVector& low, FloatVector& high) {
  const hn::Rebind<hwy::float16_t, Floats> halves;
  const hn::Half<Shorts> half;
  low = hn::PromoteTo(Floats(), hn::BitCast(halves, hn::LowerHalf(half, shorts)));
  high = hn::PromoteTo(Floats(), hn::BitCast(halves, hn::UpperHalf(half, shorts)));
}

struct WidenE5M2 {
  using Format = E5M2;
  static HWY_INLINE void widen(const uint8_t* from, FloatVector& low, FloatVector& high) {
    widen_shorts(hn::ShiftLeft<8>(load_shorts(from)), low, high);
  }
};

struct WidenE4M3 {
  using Format = E4M3;
  static HWY_INLINE void widen(const uint8_t* from, FloatVector& low, FloatVector& high) {
    const Shorts shorts;
    const hn::RebindToSigned<Shorts> integers;
    // The sign twice, four bits of exponent, three of mantissa: without the second sign a fp16
    // whose bias is greater by 8.
    const auto wide = hn::ShiftRight<1>(hn::BitCast(integers, hn::ShiftLeft<8>(load_shorts(from))));
    const auto bits = hn::And(hn::BitCast(shorts, wide), hn::Set(shorts, 0xbf80));
    const auto nan = hn::Eq(hn::And(bits, hn::Set(shorts, 0x3f80)), hn::Set(shorts, 0x3f80));
    widen_shorts(hn::IfThenElse(nan, hn::Set(shorts, 0x7fff), bits), low, high);
    const auto scale = hn::Set(Floats(), 256.0f);
    low = hn::Mul(low, scale);
    high = hn::Mul(high, scale);
  }
};

#else

template <class SmallFormat>
struct WidenWords {
  using Format = SmallFormat;
  static HWY_INLINE FloatVector widen(const uint8_t* from) {
    return Format::widen(hn::PromoteTo(Words(), load_vector(hn::Rebind<uint8_t, Words>(), from)));
  }
  static HWY_INLINE void widen(const uint8_t* from, FloatVector& low, FloatVector& high) {
    low = widen(from);
    high = widen(from + hn::Lanes(Words()));
  }
};
using WidenE4M3 = WidenWords<E4M3>;
using WidenE5M2 = WidenWords<E5M2>;

#endif

#if HWY_TARGET == HWY_SCALAR

template <class D, class V>
HWY_INLINE void put_four(D quarter, V a, V b, V c, V d, const Target& to) {
  to.put(quarter, a, 0);
  to.put(quarter, b, 1);
  to.put(quarter, c, 2);
  to.put(quarter, d, 3);
}

#else

template <class D, class V>
HWY_INLINE void put_four(D, V a, V b, V c, V d, const Target& to) {
  const hn::Twice<D> half;
  const hn::Twice<decltype(half)> whole;
  to.put(whole, hn::Combine(whole, hn::Combine(half, d, c), hn::Combine(half, b, a)), 0);
}

#endif

template <class Widen>
struct ByteFloat : InOrder {
  static constexpr size_t kElementSize = 1;
  using Quarter = hn::Rebind<uint8_t, Floats>;

  static HWY_INLINE hn::Vec<Quarter> narrow(FloatVector value) {
    const auto word = Widen::Format::round(value);
    return hn::DemoteTo(Quarter(), hn::BitCast(hn::RebindToSigned<Words>(), word));
  }

  static HWY_INLINE void load(const uint8_t* from, FloatVector& a, FloatVector& b, FloatVector& c,
                              FloatVector& d) {
    Widen::widen(from, a, b);
    Widen::widen(from + 2 * hn::Lanes(Floats()), c, d);
  }
  static HWY_INLINE void store(FloatVector a, FloatVector b, FloatVector c, FloatVector d,
                               const Target& to) {
    put_four(Quarter(), narrow(a), narrow(b), narrow(c), narrow(d), to);
  }
};

void byte_floats(const Reduction& reduction) {
  if (reduction.type == DataType::float8_e4m3) {
    run_widening<ByteFloat<WidenE4M3>>(reduction);
  } else {
    run_widening<ByteFloat<WidenE5M2>>(reduction);
  }
}

}  // namespace
}  // namespace sluice::sharp::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sluice::sharp {
namespace {
HWY_EXPORT(byte_floats);
}  // namespace

void reduce_byte_floats(const Reduction& reduction) {
  HWY_DYNAMIC_DISPATCH(byte_floats)(reduction);
}

}  // namespace sluice::sharp
#endif  // HWY_ONCE
