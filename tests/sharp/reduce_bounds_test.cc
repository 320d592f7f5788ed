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
  std::array<FencedMemory, 3> inputs;
  FencedMemory result;
  for (int test = 0; test < kDataTypes * kReduceOperators * 4 * 2; ++test) {
    const auto type = static_cast<DataType>(test % kDataTypes);
    const auto reduce_operator = static_cast<ReduceOperator>(test / kDataTypes % kReduceOperators);
    const int forms = test / (kDataTypes * kReduceOperators) % 4;
    const bool at_the_end = test / (kDataTypes * kReduceOperators * 4) != 0;
    const auto place = [&](FencedMemory& memory, size_t size) {
      return at_the_end ? memory.at_the_end(size) : memory.at_the_beginning();
    };
    const Form out_form = (forms & 1) != 0 ? Form::partial : Form::element;
    for (size_t count : {1u, 2u, 3u, 7u, 15u, 16u, 17u, 31u, 33u, 63u, 65u, 127u, 129u, 257u}) {
      std::vector<ReduceInput> operands;
      for (FencedMemory& input : inputs) {
        // All of the output's form, or in turns.
        const bool other = (forms & 2) != 0 && operands.size() % 2 == 1;
        const Form form = other == (out_form == Form::element) ? Form::partial : Form::element;
        const size_t size = count * size_of(type, form);
        std::byte* data = place(input, size);
        std::memset(data, 0, size);
        operands.push_back({data, form});
      }
      const size_t size = count * size_of(type, out_form);
      std::byte* out = place(result, size);
      std::memset(out, 0xff, size);
      reduce(type, reduce_operator, out, out_form, operands, count);
      for (size_t i = 0; i < size; ++i) {
        ASSERT_EQ(out[i], std::byte{0}) << name_of(type) << " " << count;
      }
    }
  }
}

}  // namespace
}  // namespace sluice::sharp
