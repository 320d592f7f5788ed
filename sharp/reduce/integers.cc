// SPDX-License-Identifier: Apache-2.0
// Kernels for integers, all wrapping. Sum and product need the width only; min and max the sign as
// well.
#include <cstdint>

#include "sharp/reduce/kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "sharp/reduce/integers.cc"
#include <hwy/foreach_target.h>
// foreach_target.h comes before the headers that are compiled per target.
#include "sharp/reduce/loop-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sluice::sharp::HWY_NAMESPACE {
namespace {

#if HWY_TARGET == HWY_SCALAR

template <class D, class V>
HWY_INLINE V multiply_bytes(D d, V a, V b) {
  return hn::Set(d, static_cast<uint8_t>(hn::GetLane(a) * hn::GetLane(b)));
}
template <class D, class V>
HWY_INLINE V multiply_words(D d, V a, V b) {
  return hn::Set(d, hn::GetLane(a) * hn::GetLane(b));
}

#else

// Bytes as the even and odd halves of 16-bit lanes.
template <class D, class V>
HWY_INLINE V multiply_bytes(D d, V a, V b) {
  const hn::Repartition<uint16_t, D> wide;
  const auto low = hn::Set(wide, 0x00ff);
  const auto a16 = hn::BitCast(wide, a);
  const auto b16 = hn::BitCast(wide, b);
  const auto even = hn::And(hn::Mul(a16, b16), low);
  const auto odd = hn::Mul(hn::AndNot(low, a16), hn::ShiftRight<8>(b16));
  return hn::BitCast(d, hn::Or(even, odd));
}

#if HWY_TARGET == HWY_AVX3

template <class D, class V>
HWY_INLINE V multiply_words(D, V a, V b) {
  return hn::Mul(a, b);
}

#else

// Schoolbook, modulo 2^64: most instruction sets multiply 32 bits by 32.
template <class D, class V>
HWY_INLINE V multiply_words(D d, V a, V b) {
  const hn::Repartition<uint32_t, D> narrow;
  const auto a32 = hn::BitCast(narrow, a);
  const auto b32 = hn::BitCast(narrow, b);
  const auto a_high = hn::BitCast(narrow, hn::ShiftRight<32>(a));
  const auto b_high = hn::BitCast(narrow, hn::ShiftRight<32>(b));
  const auto middle = hn::Add(hn::MulEven(a_high, b32), hn::MulEven(a32, b_high));
  return hn::BitCast(d, hn::Add(hn::MulEven(a32, b32), hn::ShiftLeft<32>(middle)));
}

#endif

#endif

template <typename Integer, ReduceOperator Operator>
struct IntegerKernel : PlainVectors<Integer> {
  using D = typename PlainVectors<Integer>::D;
  using V = typename PlainVectors<Integer>::V;

  static HWY_INLINE V combine(D d, V a, V b) {
    if constexpr (Operator == ReduceOperator::sum) return hn::Add(a, b);
    if constexpr (Operator == ReduceOperator::min) return hn::Min(a, b);
    if constexpr (Operator == ReduceOperator::max) return hn::Max(a, b);
    if constexpr (Operator == ReduceOperator::product) {
      if constexpr (sizeof(Integer) == 1) return multiply_bytes(d, a, b);
      if constexpr (sizeof(Integer) == 4) return hn::Mul(a, b);
      if constexpr (sizeof(Integer) == 8) return multiply_words(d, a, b);
    }
  }
};

template <typename Integer, typename Unsigned>
void run(const Reduction& reduction) {
  switch (reduction.reduce_operator) {
    case ReduceOperator::sum:
      return Loop<IntegerKernel<Unsigned, ReduceOperator::sum>>::run(reduction);
    case ReduceOperator::product:
      return Loop<IntegerKernel<Unsigned, ReduceOperator::product>>::run(reduction);
    case ReduceOperator::min:
      return Loop<IntegerKernel<Integer, ReduceOperator::min>>::run(reduction);
    case ReduceOperator::max:
      return Loop<IntegerKernel<Integer, ReduceOperator::max>>::run(reduction);
  }
}

void integers(const Reduction& reduction) {
  switch (reduction.type) {
    case DataType::int8:
      return run<int8_t, uint8_t>(reduction);
    case DataType::uint8:
      return run<uint8_t, uint8_t>(reduction);
    case DataType::int32:
      return run<int32_t, uint32_t>(reduction);
    case DataType::uint32:
      return run<uint32_t, uint32_t>(reduction);
    case DataType::int64:
      return run<int64_t, uint64_t>(reduction);
    case DataType::uint64:
      return run<uint64_t, uint64_t>(reduction);
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
HWY_EXPORT(integers);
}  // namespace

void reduce_integers(const Reduction& reduction) {
  HWY_DYNAMIC_DISPATCH(integers)(reduction);
}

}  // namespace sluice::sharp
#endif  // HWY_ONCE
