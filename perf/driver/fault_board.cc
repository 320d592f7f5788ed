// SPDX-License-Identifier: Apache-2.0
#include "perf/driver/fault_board.h"

#include <sys/mman.h>

#include <cerrno>
#include <new>

namespace sluice::perf {

Result<FaultBoard> FaultBoard::make() {
  void* const memory =
      ::mmap(nullptr, sizeof(Page), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return fail_errno(errno, "cannot map a page to share with the ranks");
  return FaultBoard(new (memory) Page);
}

void FaultBoard::Unmap::operator()(Page* page) const {
  ::munmap(page, sizeof(Page));
}

}  // namespace sluice::perf
