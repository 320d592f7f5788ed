// SPDX-License-Identifier: Apache-2.0
// Kernels for min and max of all floats, by the integer minimum and maximum of keys.
//
// The key of a float orders as min (or max) wants it: -Inf < ... < -0 < +0 < ... < +Inf, and every
// NaN behind, so that it loses against any number. Read as an integer, the bits of a positive float
// order already, and those of a negative one do after flipping all but the sign: that leaves the
// NaNs at both ends. Adding a constant turns the ring of integers until they are at one end.
#include <cstdint>
#include <type_traits>

#include "sharp/reduce/kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "sharp/reduce/extremes.cc"
#include <hwy/foreach_target.h>
// foreach_target.h comes before the headers that are compiled per target.
#include "sharp/reduce/float-inl.h"
#include "sharp/reduce/loop-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sluice::sharp::HWY_NAMESPACE {
namespace {

// A type of floats: its bits as an integer, those of the last number before the NaNs, and the
// greatest number that min and max may write.
template <typename Integer, Integer LastNumber, Integer Greatest = LastNumber>
struct FloatBits {
  using Bits = Integer;
  static constexpr Integer kLastNumber = LastNumber;
  static constexpr Integer kGreatest = Greatest;
};

using Bfloat16Bits = FloatBits<int16_t, 0x7f80>;
using Float16Bits = FloatBits<int16_t, 0x7c00>;
using Float8E4M3Bits = FloatBits<int8_t, 0x7e>;
using Float8E5M2Bits = FloatBits<int8_t, 0x7c, 0x7b>;

template <class Float, ReduceOperator Operator>
struct ExtremeKernel : PlainVectors<typename Float::Bits> {
  using Bits = typename Float::Bits;
  using Unsigned = std::make_unsigned_t<Bits>;
  using Base = PlainVectors<Bits>;
  using D = typename Base::D;
  using V = typename Base::V;
  static constexpr Bits kMagnitude = static_cast<Bits>(static_cast<Unsigned>(-1) >> 1);
  // min: -Inf becomes the least key. max: +Inf becomes the greatest.
  static constexpr Bits kTurn = static_cast<Bits>(
      Operator == ReduceOperator::min ? Unsigned{Float::kLastNumber} - Unsigned{kMagnitude}
                                      : Unsigned{kMagnitude} - Unsigned{Float::kLastNumber});

  static HWY_INLINE V flip_negative(V value) {
    return hn::Xor(value, hn::And(hn::BroadcastSignBit(value), hn::Set(D(), kMagnitude)));
  }
  static HWY_INLINE V key_of(V value) {
    const D d;
#if HWY_TARGET == HWY_AVX3
    // The same in fewer instructions: flipping all but the sign is subtracting from it.
    return hn::IfNegativeThenElse(value,
                                  hn::Sub(hn::Set(d, static_cast<Bits>(kMagnitude + kTurn)), value),
                                  hn::Add(value, hn::Set(d, kTurn)));
#else
    return hn::Add(flip_negative(value), hn::Set(d, kTurn));
#endif
  }
  static HWY_INLINE V value_of(V key) {
    const D d;
    V value = flip_negative(hn::Sub(key, hn::Set(d, kTurn)));
    const V all = hn::Set(d, kMagnitude);
    const V magnitude = hn::And(value, all);
    if constexpr (Float::kGreatest != Float::kLastNumber) {
      // The conversion of CUDA that NCCL's device code ends with saturates infinity.
      const V sign = hn::Xor(value, magnitude);
      value = hn::Or(sign, hn::Min(magnitude, hn::Set(d, Float::kGreatest)));
    }
    return hn::IfThenElse(hn::Gt(magnitude, hn::Set(d, Float::kLastNumber)), all, value);
  }

  static HWY_INLINE void load(const uint8_t* from, V& a, V& b, V& c, V& d) {
    Base::load(from, a, b, c, d);
    a = key_of(a);
    b = key_of(b);
    c = key_of(c);
    d = key_of(d);
  }
  static HWY_INLINE V combine(D, V a, V b) {
    if constexpr (Operator == ReduceOperator::min) {
      return hn::Min(a, b);
    } else {
      return hn::Max(a, b);
    }
  }
  static HWY_INLINE void store(V a, V b, V c, V d, const Target& to) {
    Base::store(value_of(a), value_of(b), value_of(c), value_of(d), to);
  }
};

#if HWY_TARGET == HWY_AVX3

// AVX-512's VRANGE orders zeros and prefers numbers to NaNs as we do, all but signaling ones: an
// input is made quiet by its range with itself.
template <typename Float, ReduceOperator Operator>
struct RangeKernel : PlainVectors<Float> {
  using Base = PlainVectors<Float>;
  using D = typename Base::D;
  using V = typename Base::V;
  // The lower two bits choose min or max, bit 2 the sign of the one chosen.
  static constexpr int kChoice = Operator == ReduceOperator::min ? 0b100 : 0b101;

  static HWY_INLINE V range(V a, V b) {
    if constexpr (sizeof(Float) == sizeof(float)) {
      return V{_mm512_range_ps(a.raw, b.raw, kChoice)};
    } else {
      return V{_mm512_range_pd(a.raw, b.raw, kChoice)};
    }
  }
  static HWY_INLINE void load(const uint8_t* from, V& a, V& b, V& c, V& d) {
    Base::load(from, a, b, c, d);
    a = range(a, a);
    b = range(b, b);
    c = range(c, c);
    d = range(d, d);
  }
  static HWY_INLINE V combine(D, V a, V b) { return range(a, b); }
  static HWY_INLINE void store(V a, V b, V c, V d, const Target& to) {
    const D tag;
    Base::store(canonical(tag, a), canonical(tag, b), canonical(tag, c), canonical(tag, d), to);
  }
};

template <ReduceOperator Operator>
using Float32Kernel = RangeKernel<float, Operator>;
template <ReduceOperator Operator>
using Float64Kernel = RangeKernel<double, Operator>;

#else

template <ReduceOperator Operator>
using Float32Kernel = ExtremeKernel<FloatBits<int32_t, 0x7f800000>, Operator>;
template <ReduceOperator Operator>
using Float64Kernel = ExtremeKernel<FloatBits<int64_t, 0x7ff0000000000000>, Operator>;

#endif

template <ReduceOperator Operator>
void run(const Reduction& reduction) {
  switch (reduction.type) {
    case DataType::float64:
      return Loop<Float64Kernel<Operator>>::run(reduction);
    case DataType::float32:
      return Loop<Float32Kernel<Operator>>::run(reduction);
    case DataType::float16:
      return Loop<ExtremeKernel<Float16Bits, Operator>>::run(reduction);
    case DataType::bfloat16:
      return Loop<ExtremeKernel<Bfloat16Bits, Operator>>::run(reduction);
    case DataType::float8_e4m3:
      return Loop<ExtremeKernel<Float8E4M3Bits, Operator>>::run(reduction);
    case DataType::float8_e5m2:
      return Loop<ExtremeKernel<Float8E5M2Bits, Operator>>::run(reduction);
    default:
      return;
  }
}

void extremes(const Reduction& reduction) {
  if (reduction.reduce_operator == ReduceOperator::min) {
    run<ReduceOperator::min>(reduction);
  } else {
    run<ReduceOperator::max>(reduction);
  }
}

}  // namespace
}  // namespace sluice::sharp::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sluice::sharp {
namespace {
HWY_EXPORT(extremes);
}  // namespace

void reduce_extremes(const Reduction& reduction) {
  HWY_DYNAMIC_DISPATCH(extremes)(reduction);
}

}  // namespace sluice::sharp
#endif  // HWY_ONCE
