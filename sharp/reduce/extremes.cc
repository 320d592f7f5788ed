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

using Float64Bits = FloatBits<int64_t, 0x7ff0000000000000>;
using Float32Bits = FloatBits<int32_t, 0x7f800000>;
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
  static HWY_INLINE V key_of(V value) { return hn::Add(flip_negative(value), hn::Set(D(), kTurn)); }
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

template <class Float>
void run(const Reduction& reduction) {
  if (reduction.reduce_operator == ReduceOperator::min) {
    Loop<ExtremeKernel<Float, ReduceOperator::min>>::run(reduction);
  } else {
    Loop<ExtremeKernel<Float, ReduceOperator::max>>::run(reduction);
  }
}

void extremes(const Reduction& reduction) {
  switch (reduction.type) {
    case DataType::float64:
      return run<Float64Bits>(reduction);
    case DataType::float32:
      return run<Float32Bits>(reduction);
    case DataType::float16:
      return run<Float16Bits>(reduction);
    case DataType::bfloat16:
      return run<Bfloat16Bits>(reduction);
    case DataType::float8_e4m3:
      return run<Float8E4M3Bits>(reduction);
    case DataType::float8_e5m2:
      return run<Float8E5M2Bits>(reduction);
    default:
      return;
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
