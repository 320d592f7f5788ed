// SPDX-License-Identifier: Apache-2.0
// Kernels for fp32 and fp64.
#include "sharp/reduce/kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "sharp/reduce/floats.cc"
#include <hwy/foreach_target.h>
// foreach_target.h comes before the headers that are compiled per target.
#include "sharp/reduce/loop-inl.h"
#include "sharp/reduce/minmax-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sluice::sharp::HWY_NAMESPACE {
namespace {

template <typename Float, ReduceOperator Operator>
struct FloatKernel {
  using T = Float;
  using Accumulator = hn::Vec<hn::ScalableTag<T>>;

  template <class D>
  static HWY_INLINE Accumulator start(D, Accumulator first) {
    return first;
  }
  template <class D>
  static HWY_INLINE Accumulator combine(D d, Accumulator a, Accumulator b) {
    if constexpr (Operator == ReduceOperator::sum) return hn::Add(a, b);
    if constexpr (Operator == ReduceOperator::product) return hn::Mul(a, b);
    if constexpr (Operator == ReduceOperator::min) return float_min(d, a, b);
    if constexpr (Operator == ReduceOperator::max) return float_max(d, a, b);
  }
  template <class D>
  static HWY_INLINE Accumulator finish(D, Accumulator accumulator) {
    return accumulator;
  }
};

template <typename Float>
void run(ReduceOperator reduce_operator, void* out, const void* const* inputs, int count,
         size_t elements) {
  switch (reduce_operator) {
    case ReduceOperator::sum:
      return Loop<FloatKernel<Float, ReduceOperator::sum>>::run(out, inputs, count, elements);
    case ReduceOperator::product:
      return Loop<FloatKernel<Float, ReduceOperator::product>>::run(out, inputs, count, elements);
    case ReduceOperator::min:
      return Loop<FloatKernel<Float, ReduceOperator::min>>::run(out, inputs, count, elements);
    case ReduceOperator::max:
      return Loop<FloatKernel<Float, ReduceOperator::max>>::run(out, inputs, count, elements);
  }
}

void floats(DataType type, ReduceOperator reduce_operator, void* out, const void* const* inputs,
            int count, size_t elements) {
  if (type == DataType::float32) return run<float>(reduce_operator, out, inputs, count, elements);
  if (type == DataType::float64) return run<double>(reduce_operator, out, inputs, count, elements);
}

}  // namespace
}  // namespace sluice::sharp::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sluice::sharp {
namespace {
HWY_EXPORT(floats);
}  // namespace

void reduce_floats(DataType type, ReduceOperator reduce_operator, void* out,
                   const void* const* inputs, int input_count, size_t elements) {
  HWY_DYNAMIC_DISPATCH(floats)(type, reduce_operator, out, inputs, input_count, elements);
}

}  // namespace sluice::sharp
#endif  // HWY_ONCE
