// SPDX-License-Identifier: Apache-2.0
#include "perf/driver/kernels.h"

#include "perf/driver/kernels_impl.h"

namespace sluice::perf {

const KernelSet& baseline_kernels() {
  static constexpr KernelSet set = make_kernel_set("baseline");
  return set;
}

const KernelSet& kernels() {
#ifdef SLUICE_PERF_AVX2
  static const bool has_avx2 = __builtin_cpu_supports("avx2") != 0;
  if (has_avx2) return avx2_kernels();
#endif
  return baseline_kernels();
}

}  // namespace sluice::perf
