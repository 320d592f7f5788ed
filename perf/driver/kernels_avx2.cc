// SPDX-License-Identifier: Apache-2.0
// Compiled with AVX2; nothing here may run before kernels() has asked the processor.
#include "perf/driver/kernels_impl.h"

namespace sluice::perf {

const KernelSet& avx2_kernels() {
  static constexpr KernelSet set = make_kernel_set("avx2");
  return set;
}

}  // namespace sluice::perf
