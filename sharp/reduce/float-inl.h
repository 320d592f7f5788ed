// SPDX-License-Identifier: Apache-2.0
// What kernels of floats share: the one NaN that they write, and min and max (see reduce.h).

#if defined(SLUICE_SHARP_REDUCE_FLOAT_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SLUICE_SHARP_REDUCE_FLOAT_INL_H_
#undef SLUICE_SHARP_REDUCE_FLOAT_INL_H_
#else
#define SLUICE_SHARP_REDUCE_FLOAT_INL_H_
#endif

#include <hwy/highway.h>

#include "sharp/reduce/kernels.h"

HWY_BEFORE_NAMESPACE();
namespace sluice::sharp::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Which operand's NaN survives an addition depends on CPU and compiler; so all become the one that
// GPUs write: all ones, positive.
template <class D, class V>
HWY_INLINE V canonical(D d, V value) {
  const hn::RebindToUnsigned<D> bits;
  const auto nan = hn::BitCast(d, hn::Set(bits, static_cast<hn::TFromD<decltype(bits)>>(-1) >> 1));
  return hn::IfThenElse(hn::IsNaN(value), nan, value);
}

// Equal operands differ at most in the sign of zero: joining their bits finds the -0, meeting them
// the +0.
template <class V>
HWY_INLINE V float_min(V a, V b) {
  const V chosen = hn::IfThenElse(hn::Or(hn::Lt(a, b), hn::IsNaN(b)), a, b);
  return hn::IfThenElse(hn::Eq(a, b), hn::Or(a, b), chosen);
}

template <class V>
HWY_INLINE V float_max(V a, V b) {
  const V chosen = hn::IfThenElse(hn::Or(hn::Lt(b, a), hn::IsNaN(b)), a, b);
  return hn::IfThenElse(hn::Eq(a, b), hn::And(a, b), chosen);
}

template <ReduceOperator Operator, class V>
HWY_INLINE V combine_floats(V a, V b) {
  if constexpr (Operator == ReduceOperator::sum) return hn::Add(a, b);
  if constexpr (Operator == ReduceOperator::product) return hn::Mul(a, b);
  if constexpr (Operator == ReduceOperator::min) return float_min(a, b);
  if constexpr (Operator == ReduceOperator::max) return float_max(a, b);
}

}  // namespace sluice::sharp::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // SLUICE_SHARP_REDUCE_FLOAT_INL_H_
