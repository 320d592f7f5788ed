// SPDX-License-Identifier: Apache-2.0
// Kernels touch nothing outside their operands: each operand ends, or begins, at a page that
// faults. (The kernels are compiled without sanitizers, which would not see into vector code
// anyway.)
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstring>
#include <vector>

#include "sharp/reduce/reduce.h"

namespace sluice::sharp {
namespace {

// Memory between two pages that nobody may touch.
class FencedMemory {
 public:
  FencedMemory() : page_(static_cast<size_t>(::sysconf(_SC_PAGESIZE))) {
    void* memory = ::mmap(nullptr, 3 * page_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    EXPECT_NE(memory, MAP_FAILED);
    start_ = static_cast<std::byte*>(memory) + page_;
    EXPECT_EQ(::mprotect(start_, page_, PROT_READ | PROT_WRITE), 0);
  }
  ~FencedMemory() { ::munmap(start_ - page_, 3 * page_); }
  FencedMemory(const FencedMemory&) = delete;
  FencedMemory& operator=(const FencedMemory&) = delete;

  std::byte* at_the_beginning() { return start_; }
  std::byte* at_the_end(size_t size) { return start_ + page_ - size; }

 private:
  size_t page_;
  std::byte* start_ = nullptr;
};

TEST(ReduceBounds, NothingOutsideTheOperandsIsTouched) {
  constexpr int kInputs = 3;
  std::array<FencedMemory, kInputs> inputs;
  FencedMemory result;
  for (int type = 0; type < kDataTypes; ++type) {
    for (int operation = 0; operation < kReduceOperators; ++operation) {
      const auto data_type = static_cast<DataType>(type);
      const auto reduce_operator = static_cast<ReduceOperator>(operation);
      if (!can_reduce(data_type, reduce_operator)) continue;
      for (size_t count : {1u, 2u, 3u, 7u, 15u, 16u, 17u, 31u, 33u, 63u, 65u, 127u, 129u, 257u}) {
        const size_t size = count * size_of(data_type);
        for (const bool at_the_end : {false, true}) {
          std::vector<const void*> operands;
          for (FencedMemory& input : inputs) {
            std::byte* place = at_the_end ? input.at_the_end(size) : input.at_the_beginning();
            std::memset(place, 0, size);
            operands.push_back(place);
          }
          std::byte* out = at_the_end ? result.at_the_end(size) : result.at_the_beginning();
          std::memset(out, 0xff, size);
          reduce(data_type, reduce_operator, out, operands.data(), kInputs, count);
          for (size_t i = 0; i < size; ++i) {
            ASSERT_EQ(out[i], std::byte{0}) << name_of(data_type) << " " << count;
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace sluice::sharp
