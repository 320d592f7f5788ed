// SPDX-License-Identifier: Apache-2.0
// min and max of floats as PTX defines them, on every instruction set (see reduce.h).

#if defined(SLUICE_SHARP_REDUCE_MINMAX_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SLUICE_SHARP_REDUCE_MINMAX_INL_H_
#undef SLUICE_SHARP_REDUCE_MINMAX_INL_H_
#else
#define SLUICE_SHARP_REDUCE_MINMAX_INL_H_
#endif

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace sluice::sharp::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Equal operands differ at most in the sign of zero: joining their bits finds the -0, meeting them
// the +0.
template <class D, class V>
HWY_INLINE V float_min(D, V a, V b) {
  const V chosen = hn::IfThenElse(hn::Or(hn::Lt(a, b), hn::IsNaN(b)), a, b);
  return hn::IfThenElse(hn::Eq(a, b), hn::Or(a, b), chosen);
}

template <class D, class V>
HWY_INLINE V float_max(D, V a, V b) {
  const V chosen = hn::IfThenElse(hn::Or(hn::Lt(b, a), hn::IsNaN(b)), a, b);
  return hn::IfThenElse(hn::Eq(a, b), hn::And(a, b), chosen);
}

}  // namespace sluice::sharp::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // SLUICE_SHARP_REDUCE_MINMAX_INL_H_
