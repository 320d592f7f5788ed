// SPDX-License-Identifier: Apache-2.0
// Kernels for sums and products of fp32 and fp64.
#include "sharp/reduce/kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "sharp/reduce/floats.cc"
#include <hwy/foreach_target.h>
// foreach_target.h comes before the headers that are compiled per target.
#include "sharp/reduce/float-inl.h"
#include "sharp/reduce/loop-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sluice::sharp::HWY_NAMESPACE {
namespace {

template <typename Float, ReduceOperator Operator>
struct FloatKernel : PlainVectors<Float> {
  using Base = PlainVectors<Float>;
  using D = typename Base::D;
  using V = typename Base::V;

  static HWY_INLINE V combine(D, V a, V b) {
    if constexpr (Operator == ReduceOperator::sum) {
      return hn::Add(a, b);
    } else {
      return hn::Mul(a, b);
    }
  }
  static HWY_INLINE void store(V a, V b, V c, V d, const Target& to) {
    const D tag;
    Base::store(canonical(tag, a), canonical(tag, b), canonical(tag, c), canonical(tag, d), to);
  }
};

template <typename Float>
void run(const Reduction& reduction) {
  if (reduction.reduce_operator == ReduceOperator::sum) {
    Loop<FloatKernel<Float, ReduceOperator::sum>>::run(reduction);
  } else {
    Loop<FloatKernel<Float, ReduceOperator::product>>::run(reduction);
  }
}

void floats(const Reduction& reduction) {
  if (reduction.type == DataType::float64) return run<double>(reduction);
  run<float>(reduction);
}

}  // namespace
}  // namespace sluice::sharp::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sluice::sharp {
namespace {
HWY_EXPORT(floats);
}  // namespace

void reduce_floats(const Reduction& reduction) {
  HWY_DYNAMIC_DISPATCH(floats)(reduction);
}

}  // namespace sluice::sharp
#endif  // HWY_ONCE
