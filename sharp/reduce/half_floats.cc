// SPDX-License-Identifier: Apache-2.0
// Kernels for fp16 and bf16: pairs of lanes are widened to two vectors of fp32, accumulated there
// over all inputs, and rounded once.
//
// A 32-bit lane holds two elements, the even one below. The even and odd vectors are accumulated
// apart, which needs no shuffling. An odd last element is handled as a pair with a zero beside it.
#include <cstdint>

#include "sharp/reduce/kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "sharp/reduce/half_floats.cc"
#include <hwy/foreach_target.h>
// foreach_target.h comes before the headers that are compiled per target.
#include "sharp/reduce/loop-inl.h"
#include "sharp/reduce/minmax-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sluice::sharp::HWY_NAMESPACE {
namespace {

using Words = hn::ScalableTag<uint32_t>;
using Floats = hn::ScalableTag<float>;
using WordVector = hn::Vec<Words>;
using FloatVector = hn::Vec<Floats>;

struct Pair {
  FloatVector even;
  FloatVector odd;
};

struct Bfloat16 {
  static HWY_INLINE Pair widen(WordVector lanes) {
    const Words words;
    const Floats floats;
    return {hn::BitCast(floats, hn::ShiftLeft<16>(lanes)),
            hn::BitCast(floats, hn::And(lanes, hn::Set(words, 0xffff0000u)))};
  }
  // The upper half of the word is the rounded element; NaNs stay NaNs.
  static HWY_INLINE WordVector round(FloatVector value) {
    const Words words;
    const auto bits = hn::BitCast(words, value);
    const auto even = hn::And(hn::ShiftRight<16>(bits), hn::Set(words, 1));
    const auto rounded = hn::Add(bits, hn::Add(even, hn::Set(words, 0x7fffu)));
    const auto quiet = hn::Or(bits, hn::Set(words, 0x00400000u));
    return hn::IfVecThenElse(hn::BitCast(words, hn::VecFromMask(Floats(), hn::IsNaN(value))), quiet,
                             rounded);
  }
  static HWY_INLINE WordVector narrow(Pair pair) {
    return hn::Or(hn::ShiftRight<16>(round(pair.even)),
                  hn::And(round(pair.odd), hn::Set(Words(), 0xffff0000u)));
  }
};

#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3

// By the CPU's own conversions, which know no slow path for subnormals. `even` and `odd` are the
// lower and the upper half of the elements here.
struct Float16 {
  using Elements = hn::Repartition<uint16_t, Words>;
  using HalfElements = hn::Half<Elements>;
  using Halves = hn::Rebind<hwy::float16_t, Floats>;

  static HWY_INLINE Pair widen(WordVector lanes) {
    const auto elements = hn::BitCast(Elements(), lanes);
    return {
        hn::PromoteTo(Floats(), hn::BitCast(Halves(), hn::LowerHalf(HalfElements(), elements))),
        hn::PromoteTo(Floats(), hn::BitCast(Halves(), hn::UpperHalf(HalfElements(), elements)))};
  }
  static HWY_INLINE WordVector narrow(Pair pair) {
    const auto low = hn::BitCast(HalfElements(), hn::DemoteTo(Halves(), pair.even));
    const auto high = hn::BitCast(HalfElements(), hn::DemoteTo(Halves(), pair.odd));
    return hn::BitCast(Words(), hn::Combine(Elements(), high, low));
  }
};

#else

// By integer and float arithmetic that every instruction set has, so that all give the same bits.
struct Float16 {
  // `half` is in the low 16 bits, the rest is zero.
  static HWY_INLINE FloatVector widen_low(WordVector half) {
    const Words words;
    const Floats floats;
    const auto sign = hn::ShiftLeft<16>(hn::And(half, hn::Set(words, 0x8000u)));
    const auto magnitude = hn::And(half, hn::Set(words, 0x7fffu));
    // Rebias the exponent by a multiplication, which also normalises subnormals.
    const auto scaled = hn::Mul(hn::BitCast(floats, hn::ShiftLeft<13>(magnitude)),
                                hn::BitCast(floats, hn::Set(words, 0x77800000u)));
    const auto special = hn::VecFromMask(words, hn::Gt(magnitude, hn::Set(words, 0x7bffu)));
    const auto exponent = hn::And(special, hn::Set(words, 0x7f800000u));
    return hn::BitCast(floats, hn::Or(hn::Or(hn::BitCast(words, scaled), exponent), sign));
  }
  static HWY_INLINE WordVector round(FloatVector value) {
    const Words words;
    const Floats floats;
    const auto bits = hn::BitCast(words, value);
    const auto sign = hn::And(bits, hn::Set(words, 0x80000000u));
    const auto magnitude = hn::Xor(bits, sign);
    const auto even = hn::And(hn::ShiftRight<13>(magnitude), hn::Set(words, 1));
    const auto normal = hn::ShiftRight<13>(
        hn::Add(hn::Add(magnitude, even), hn::Set(words, 0xc8000fffu)));  // 0xfff - (112 << 23)
    // Below 2^-14: adding 0.5 lets the FPU round to multiples of 2^-24.
    const auto half = hn::Set(floats, 0.5f);
    const auto subnormal =
        hn::Sub(hn::BitCast(words, hn::Add(hn::BitCast(floats, magnitude), half)),
                hn::BitCast(words, half));
    const auto nan = hn::Or(hn::And(hn::ShiftRight<13>(magnitude), hn::Set(words, 0x03ffu)),
                            hn::Set(words, 0x7e00u));
    auto result = hn::IfThenElse(hn::Lt(magnitude, hn::Set(words, 0x38800000u)), subnormal, normal);
    result = hn::IfThenElse(hn::Gt(magnitude, hn::Set(words, 0x477fefffu)), hn::Set(words, 0x7c00u),
                            result);
    result = hn::IfThenElse(hn::Gt(magnitude, hn::Set(words, 0x7f800000u)), nan, result);
    return hn::Or(result, hn::ShiftRight<16>(sign));
  }
  static HWY_INLINE Pair widen(WordVector lanes) {
    return {widen_low(hn::And(lanes, hn::Set(Words(), 0xffffu))),
            widen_low(hn::ShiftRight<16>(lanes))};
  }
  static HWY_INLINE WordVector narrow(Pair pair) {
    return hn::Or(round(pair.even), hn::ShiftLeft<16>(round(pair.odd)));
  }
};

#endif

template <ReduceOperator Operator>
HWY_INLINE FloatVector combine_floats(FloatVector a, FloatVector b) {
  if constexpr (Operator == ReduceOperator::sum) return hn::Add(a, b);
  if constexpr (Operator == ReduceOperator::product) return hn::Mul(a, b);
  if constexpr (Operator == ReduceOperator::min) return float_min(Floats(), a, b);
  if constexpr (Operator == ReduceOperator::max) return float_max(Floats(), a, b);
}

template <class Format, ReduceOperator Operator>
struct HalfKernel {
  using T = uint32_t;
  using Accumulator = Pair;

  template <class D>
  static HWY_INLINE Pair start(D, WordVector first) {
    return Format::widen(first);
  }
  template <class D>
  static HWY_INLINE Pair combine(D, Pair accumulator, WordVector next) {
    const Pair wide = Format::widen(next);
    return {combine_floats<Operator>(accumulator.even, wide.even),
            combine_floats<Operator>(accumulator.odd, wide.odd)};
  }
  template <class D>
  static HWY_INLINE WordVector finish(D, Pair accumulator) {
    return Format::narrow(accumulator);
  }
};

template <class Kernel>
void run_pairs(void* out, const void* const* inputs, int count, size_t elements) {
  Loop<Kernel>::run(out, inputs, count, elements / 2);
  if (elements % 2 == 0) return;
  const size_t at = (elements - 1) * sizeof(uint16_t);
  const Words words;
  const auto last = [&](int index) {
    uint16_t element = 0;
    std::memcpy(&element, static_cast<const std::byte*>(inputs[index]) + at, sizeof element);
    return hn::Set(words, uint32_t{element});
  };
  Pair accumulator = Kernel::start(words, last(0));
  for (int index = 1; index < count; ++index) {
    accumulator = Kernel::combine(words, accumulator, last(index));
  }
  const auto element = static_cast<uint16_t>(hn::GetLane(Kernel::finish(words, accumulator)));
  std::memcpy(static_cast<std::byte*>(out) + at, &element, sizeof element);
}

template <class Format>
void run(ReduceOperator reduce_operator, void* out, const void* const* inputs, int count,
         size_t elements) {
  switch (reduce_operator) {
    case ReduceOperator::sum:
      return run_pairs<HalfKernel<Format, ReduceOperator::sum>>(out, inputs, count, elements);
    case ReduceOperator::product:
      return run_pairs<HalfKernel<Format, ReduceOperator::product>>(out, inputs, count, elements);
    case ReduceOperator::min:
      return run_pairs<HalfKernel<Format, ReduceOperator::min>>(out, inputs, count, elements);
    case ReduceOperator::max:
      return run_pairs<HalfKernel<Format, ReduceOperator::max>>(out, inputs, count, elements);
  }
}

void half_floats(DataType type, ReduceOperator reduce_operator, void* out,
                 const void* const* inputs, int count, size_t elements) {
  if (type == DataType::float16) return run<Float16>(reduce_operator, out, inputs, count, elements);
  if (type == DataType::bfloat16) {
    return run<Bfloat16>(reduce_operator, out, inputs, count, elements);
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

void reduce_half_floats(DataType type, ReduceOperator reduce_operator, void* out,
                        const void* const* inputs, int input_count, size_t elements) {
  HWY_DYNAMIC_DISPATCH(half_floats)(type, reduce_operator, out, inputs, input_count, elements);
}

}  // namespace sluice::sharp
#endif  // HWY_ONCE
