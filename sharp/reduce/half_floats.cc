// SPDX-License-Identifier: Apache-2.0
// Kernels for fp16 and bf16.
#include <cstdint>

#include "sharp/reduce/kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "sharp/reduce/half_floats.cc"
#include <hwy/foreach_target.h>
// foreach_target.h comes before the headers that are compiled per target.
#include "sharp/reduce/widening-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sluice::sharp::HWY_NAMESPACE {
namespace {

// Two elements to a word, widened and narrowed by `Element` a word's vector at a time.
template <class Element>
struct TwoInAWord : EvenAndOdd {
  static constexpr size_t kElementSize = 2;

  static HWY_INLINE void load(const uint8_t* from, FloatVector& a, FloatVector& b, FloatVector& c,
                              FloatVector& d) {
    const Words words;
    Element::widen(load_vector(words, from), a, b);
    Element::widen(load_vector(words, from + hn::Lanes(words) * sizeof(uint32_t)), c, d);
  }
  static HWY_INLINE void store(FloatVector a, FloatVector b, FloatVector c, FloatVector d,
                               const Target& to) {
    const Words words;
    to.put(words, Element::narrow(a, b), 0);
    to.put(words, Element::narrow(c, d), hn::Lanes(words) * sizeof(uint32_t));
  }
};

// The upper half of a fp32.
struct Bfloat16 : TwoInAWord<Bfloat16> {
  static HWY_INLINE void widen(WordVector lanes, FloatVector& even, FloatVector& odd) {
    const Floats floats;
    even = hn::BitCast(floats, hn::ShiftLeft<16>(lanes));
    odd = hn::BitCast(floats, hn::And(lanes, hn::Set(Words(), 0xffff0000u)));
  }
  // The upper half of the word is the rounded element.
  static HWY_INLINE WordVector round(FloatVector value) {
    const Words words;
    const auto nan = hn::RebindMask(words, hn::IsNaN(value));
    const auto bits = hn::BitCast(words, value);
#if HWY_TARGET == HWY_AVX3
    // Up at a tie, and back if that made it odd.
    const auto up = hn::Add(bits, hn::Set(words, 0x8000u));
    const auto tie = hn::Eq(hn::And(up, hn::Set(words, 0xffffu)), hn::Zero(words));
    const auto rounded = hn::IfThenElse(tie, hn::And(up, hn::Set(words, ~0x10000u)), up);
#else
    const auto even = hn::And(hn::ShiftRight<16>(bits), hn::Set(words, 1));
    const auto rounded = hn::Add(bits, hn::Add(even, hn::Set(words, 0x7fffu)));
#endif
    return hn::IfThenElse(nan, hn::Set(words, 0x7fffffffu), rounded);
  }
  static HWY_INLINE WordVector narrow(FloatVector even, FloatVector odd) {
    return hn::Or(hn::ShiftRight<16>(round(even)),
                  hn::And(round(odd), hn::Set(Words(), 0xffff0000u)));
  }
};

#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3

// By the CPU's own conversions, which know no slow path for subnormals.
struct Float16 : InOrder {
  static constexpr size_t kElementSize = 2;
  using Elements = hn::Repartition<uint16_t, Floats>;
  using Halves = hn::Rebind<hwy::float16_t, Floats>;

  static HWY_INLINE FloatVector widen(const uint8_t* from) {
    return hn::PromoteTo(Floats(), load_vector(Halves(), from));
  }
  static HWY_INLINE hn::Vec<Elements> narrow(FloatVector low, FloatVector high) {
    const Floats floats;
    const hn::Half<Elements> half;
    return hn::Combine(Elements(),
                       hn::BitCast(half, hn::DemoteTo(Halves(), canonical(floats, high))),
                       hn::BitCast(half, hn::DemoteTo(Halves(), canonical(floats, low))));
  }

  static HWY_INLINE void load(const uint8_t* from, FloatVector& a, FloatVector& b, FloatVector& c,
                              FloatVector& d) {
    const size_t size = hn::Lanes(Floats()) * kElementSize;
    a = widen(from);
    b = widen(from + size);
    c = widen(from + 2 * size);
    d = widen(from + 3 * size);
  }
  static HWY_INLINE void store(FloatVector a, FloatVector b, FloatVector c, FloatVector d,
                               const Target& to) {
    const Elements elements;
    to.put(elements, narrow(a, b), 0);
    to.put(elements, narrow(c, d), hn::Lanes(elements) * kElementSize);
  }
};

#else

struct Float16 : TwoInAWord<Float16> {
  using Format = SmallFloat<5, 10, 0x7c00, 0x7c00>;

  static HWY_INLINE void widen(WordVector lanes, FloatVector& even, FloatVector& odd) {
    even = Format::widen(hn::And(lanes, hn::Set(Words(), 0xffffu)));
    odd = Format::widen(hn::ShiftRight<16>(lanes));
  }
  static HWY_INLINE WordVector narrow(FloatVector even, FloatVector odd) {
    return hn::Or(Format::round(even), hn::ShiftLeft<16>(Format::round(odd)));
  }
};

#endif

void half_floats(const Reduction& reduction) {
  if (reduction.type == DataType::float16) {
    run_widening<Float16>(reduction);
  } else {
    run_widening<Bfloat16>(reduction);
  }
}

}  // namespace
}  // namespace sluice::sharp::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sluice::sharp {
namespace {
HWY_EXPORT(half_floats);
}  // namespace

void reduce_half_floats(const Reduction& reduction) {
  HWY_DYNAMIC_DISPATCH(half_floats)(reduction);
}

}  // namespace sluice::sharp
#endif  // HWY_ONCE
