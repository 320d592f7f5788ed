// SPDX-License-Identifier: Apache-2.0
// Kernels for floats that are accumulated in fp32: elements become fp32, in the form `partial` they
// lie in memory as fp32 already, and the result is rounded at most once.
//
// A Format says how four vectors of fp32 and their elements become each other:
//   kElementSize
//   load(from, a, b, c, d), store(a, b, c, d, to)
//   load_partial(...), store_partial(...)     in the order of load()

#if defined(SLUICE_SHARP_REDUCE_WIDENING_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SLUICE_SHARP_REDUCE_WIDENING_INL_H_
#undef SLUICE_SHARP_REDUCE_WIDENING_INL_H_
#else
#define SLUICE_SHARP_REDUCE_WIDENING_INL_H_
#endif

#include <hwy/highway.h>

#include <cstdint>

#include "sharp/reduce/float-inl.h"
#include "sharp/reduce/loop-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sluice::sharp::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Words = hn::ScalableTag<uint32_t>;
using Floats = hn::ScalableTag<float>;
using WordVector = hn::Vec<Words>;
using FloatVector = hn::Vec<Floats>;

// The accumulators are in the order of the elements.
struct InOrder {
  static HWY_INLINE void load_partial(const uint8_t* from, FloatVector& a, FloatVector& b,
                                      FloatVector& c, FloatVector& d) {
    PlainVectors<float>::load(from, a, b, c, d);
  }
  static HWY_INLINE void store_partial(FloatVector a, FloatVector b, FloatVector c, FloatVector d,
                                       const Target& to) {
    PlainVectors<float>::store(a, b, c, d, to);
  }
};

// `a` has the even ones of the first elements and `b` the odd ones, then `c` and `d`: no shuffling.
struct EvenAndOdd {
  static HWY_INLINE void load_partial(const uint8_t* from, FloatVector& a, FloatVector& b,
                                      FloatVector& c, FloatVector& d) {
    const Floats tag;
    const auto* floats = reinterpret_cast<const float*>(from);
    hn::LoadInterleaved2(tag, floats, a, b);
    hn::LoadInterleaved2(tag, floats + 2 * hn::Lanes(tag), c, d);
  }
  static HWY_INLINE void store_partial(FloatVector a, FloatVector b, FloatVector c, FloatVector d,
                                       const Target& to) {
    const Floats tag;
    auto* floats = reinterpret_cast<float*>(to.at);
    hn::StoreInterleaved2(a, b, tag, floats);
    hn::StoreInterleaved2(c, d, tag, floats + 2 * hn::Lanes(tag));
  }
};

// A small IEEE-like float in the low bits of a word, by integer and float arithmetic that every
// instruction set has and that never meets a subnormal fp32 (slow on many CPUs).
// kLastNumber is the greatest, infinity included; kTop the greatest that rounding may give.
template <int kExponentBits, int kMantissaBits, uint32_t kLastNumber, uint32_t kTop>
struct SmallFloat {
  static constexpr int kMantissa = kMantissaBits;
  static constexpr uint32_t kMagnitude = (1u << (kExponentBits + kMantissaBits)) - 1;
  static constexpr uint32_t kExponents = kMagnitude >> kMantissaBits << kMantissaBits;
  static constexpr uint32_t kLast = kLastNumber;
  static constexpr uint32_t kGreatest = kTop;
  // Infinity where there is one, else NaN.
  static constexpr uint32_t kFirstSpecial = kLast == kExponents ? kLast : kLast + 1;
  static constexpr int kBias = (1 << (kExponentBits - 1)) - 1;
  static constexpr int kDropped = 23 - kMantissaBits;
  static constexpr uint32_t kRebias = static_cast<uint32_t>(127 - kBias) << 23;
  static constexpr int kSignShift = 31 - kExponentBits - kMantissaBits;

  static constexpr uint32_t power_of_two(int exponent) {
    return static_cast<uint32_t>(127 + exponent) << 23;
  }
  static constexpr uint32_t kLeastNormal = power_of_two(1 - kBias);
  static constexpr uint32_t kUnit = power_of_two(1 - kBias - kMantissaBits);  // of subnormals
  // A float of this size is rounded to multiples of that unit.
  static constexpr uint32_t kRounder = power_of_two(1 - kBias + kDropped);

  static HWY_INLINE FloatVector widen(WordVector bits) {
    const Words words;
    const Floats floats;
    const auto magnitude = hn::And(bits, hn::Set(words, kMagnitude));
    const auto sign = hn::ShiftLeft<kSignShift>(hn::Xor(bits, magnitude));
    const auto shifted = hn::ShiftLeft<kDropped>(magnitude);
    const auto normal = hn::Add(shifted, hn::Set(words, kRebias));
    const auto unit = hn::BitCast(floats, hn::Set(words, kUnit));
    const auto integer = hn::BitCast(hn::RebindToSigned<Words>(), magnitude);
    const auto subnormal = hn::BitCast(words, hn::Mul(hn::ConvertTo(floats, integer), unit));
    auto value =
        hn::IfThenElse(hn::Lt(magnitude, hn::Set(words, 1u << kMantissaBits)), subnormal, normal);
    const auto special = hn::Or(shifted, hn::Set(words, 0x7f800000u));
    value = hn::IfThenElse(hn::Gt(magnitude, hn::Set(words, kFirstSpecial - 1)), special, value);
    return hn::BitCast(floats, hn::Or(value, sign));
  }

  // To nearest, ties to even. NaNs become the canonical one.
  static HWY_INLINE WordVector round(FloatVector value) {
    const Words words;
    const Floats floats;
    const auto bits = hn::BitCast(words, value);
    const auto sign = hn::And(bits, hn::Set(words, 0x80000000u));
    const auto magnitude = hn::Xor(bits, sign);
    const auto even = hn::And(hn::ShiftRight<kDropped>(magnitude), hn::Set(words, 1));
    constexpr uint32_t kHalf = (1u << (kDropped - 1)) - 1;
    const auto normal = hn::ShiftRight<kDropped>(
        hn::Add(hn::Add(magnitude, even), hn::Set(words, kHalf - kRebias)));
    const auto rounder = hn::Set(words, kRounder);
    const auto subnormal = hn::Sub(
        hn::BitCast(words, hn::Add(hn::BitCast(floats, magnitude), hn::BitCast(floats, rounder))),
        rounder);
    auto result =
        hn::IfThenElse(hn::Lt(magnitude, hn::Set(words, kLeastNormal)), subnormal, normal);
    result = hn::Or(hn::Min(result, hn::Set(words, kTop)), hn::ShiftRight<kSignShift>(sign));
    return hn::IfThenElse(hn::Gt(magnitude, hn::Set(words, 0x7f800000u)),
                          hn::Set(words, kMagnitude), result);
  }
};

template <class Format, ReduceOperator Operator>
struct WideningKernel : Format {
  using Lane = float;
  static constexpr bool kWidens = true;

  static HWY_INLINE FloatVector combine(Floats, FloatVector a, FloatVector b) {
    return combine_floats<Operator>(a, b);
  }
  static HWY_INLINE void store_partial(FloatVector a, FloatVector b, FloatVector c, FloatVector d,
                                       const Target& to) {
    const Floats tag;
    Format::store_partial(canonical(tag, a), canonical(tag, b), canonical(tag, c),
                          canonical(tag, d), to);
  }
};

template <class Format>
HWY_INLINE void run_widening(const Reduction& reduction) {
  switch (reduction.reduce_operator) {
    case ReduceOperator::sum:
      return Loop<WideningKernel<Format, ReduceOperator::sum>>::run(reduction);
    case ReduceOperator::product:
      return Loop<WideningKernel<Format, ReduceOperator::product>>::run(reduction);
    case ReduceOperator::min:
      return Loop<WideningKernel<Format, ReduceOperator::min>>::run(reduction);
    case ReduceOperator::max:
      return Loop<WideningKernel<Format, ReduceOperator::max>>::run(reduction);
  }
}

}  // namespace sluice::sharp::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // SLUICE_SHARP_REDUCE_WIDENING_INL_H_
