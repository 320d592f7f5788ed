// SPDX-License-Identifier: Apache-2.0
// The kernels, on every instruction set of this machine: each type, operator, number of inputs,
// form and tail against exact arithmetic, bit for bit.
#include "sharp/reduce/reduce.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "sharp/reduce/kernels.h"
#include "tests/sharp/exact_numbers.h"
#include "tests/sharp/instruction_sets.h"

namespace sluice::sharp {
namespace {

using testing::ExactReduction;
using testing::FloatFormat;
using testing::for_each_instruction_set;

constexpr size_t kMaxInputs = 17;
constexpr size_t kColumns = 1100;  // elements of an input

uint64_t random_float(const FloatFormat& format, std::mt19937_64& random) {
  const uint64_t any = random() & (2 * format.magnitude_mask() + 1);
  const uint64_t sign = any & (format.magnitude_mask() + 1);
  const uint64_t mantissa = any & format.mantissa_mask();
  switch (random() % 32) {
    case 0:
      return any;  // now and then a NaN
    case 1:
      return sign;
    case 2:
      return sign | mantissa;  // subnormal
    case 3:
      return sign | (format.limit() - 1);
    case 4:
      return random() % 4 == 0 ? sign | format.limit() : sign;  // infinity
    default: {
      // Numbers of like size cancel, tie and carry.
      const uint64_t field = static_cast<uint64_t>(format.bias()) + random() % 7 - 3;
      return sign | field << format.mantissa_bits | mantissa;
    }
  }
}

// An input in memory, which nothing aligns, and its elements as bits.
struct Input {
  Form form;
  std::vector<uint64_t> bits;
  std::vector<std::byte> memory;

  Input(DataType type, Form input_form, std::mt19937_64& random) : form(input_form) {
    const size_t size = size_of(type, form);
    const bool widened = size != size_of(type);
    const FloatFormat format = widened ? testing::kFloat32 : testing::format_of(type);
    memory.resize(1 + kColumns * size);
    for (size_t at = 0; at < kColumns; ++at) {
      uint64_t element = testing::is_float(type) ? random_float(format, random) : random();
      if (size < sizeof element) element &= (uint64_t{1} << 8 * size) - 1;
      bits.push_back(element);
      std::memcpy(memory.data() + 1 + at * size, &element, size);
    }
  }
};

// How the forms of inputs and output are chosen.
enum class Pattern { elements, partials, mixed_to_element, mixed_to_partial };

std::vector<Input> make_inputs(DataType type, Pattern pattern) {
  std::mt19937_64 random(static_cast<uint64_t>(type) * 4 + static_cast<uint64_t>(pattern));
  std::vector<Input> inputs;
  for (size_t at = 0; at < kMaxInputs; ++at) {
    Form form = pattern == Pattern::elements ? Form::element : Form::partial;
    if (pattern == Pattern::mixed_to_element || pattern == Pattern::mixed_to_partial) {
      form = random() % 2 == 0 ? Form::element : Form::partial;
    }
    inputs.emplace_back(type, form, random);
  }
  return inputs;
}

Form out_form_of(Pattern pattern) {
  const bool element = pattern == Pattern::elements || pattern == Pattern::mixed_to_element;
  return element ? Form::element : Form::partial;
}

// What a reduction of the first `count` inputs must write, for every column.
class Expected {
 public:
  Expected(DataType type, ReduceOperator reduce_operator, Form form,
           const std::vector<Input>& inputs)
      : size_(size_of(type, form)) {
    const bool partial = form == Form::partial;
    std::vector<ExactReduction> columns(kColumns, ExactReduction(type, reduce_operator));
    for (size_t count = 1; count <= inputs.size(); ++count) {
      const Input& input = inputs[count - 1];
      const bool same = count == 1 && size_of(type, input.form) == size_;
      memory_.emplace_back(kColumns * size_);
      for (size_t at = 0; at < kColumns; ++at) {
        const bool from_partial = input.form == Form::partial;
        if (count == 1) {
          columns[at].start(input.bits[at], from_partial);
        } else {
          columns[at].add(input.bits[at], from_partial);
        }
        // A single input of the output's form is copied.
        const uint64_t bits = same ? input.bits[at] : columns[at].result(partial);
        std::memcpy(memory_.back().data() + at * size_, &bits, size_);
      }
    }
  }

  const std::byte* at(size_t count, size_t column) const {
    return memory_[count - 1].data() + column * size_;
  }
  size_t size() const { return size_; }

 private:
  size_t size_;
  std::vector<std::vector<std::byte>> memory_;
};

std::string hex(const std::byte* at, size_t size) {
  uint64_t bits = 0;
  std::memcpy(&bits, at, size);
  char text[32];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(bits));
  return text;
}

struct Problem {
  DataType type;
  ReduceOperator reduce_operator;
  Form form;
  size_t count;     // of inputs
  size_t elements;  // from column `first`
  size_t first;
  bool in_place;
  bool bypass_cache;
};

void check(const Problem& problem, const std::vector<Input>& inputs, const Expected& expected) {
  const size_t size = expected.size();
  constexpr std::byte kGuard{0xa5};
  // With bytes to spare, so that the output begins at any place in a vector.
  std::vector<std::byte> memory((problem.elements + 2) * size + 64, kGuard);
  std::byte* out = memory.data() + size * (1 + problem.first % (64 / size));
  std::vector<ReduceInput> operands;
  for (size_t at = 0; at < problem.count; ++at) {
    const size_t input_size = size_of(problem.type, inputs[at].form);
    operands.push_back(
        {inputs[at].memory.data() + 1 + problem.first * input_size, inputs[at].form});
  }
  if (problem.in_place && size_of(problem.type, operands.back().form) == size) {
    std::memcpy(out, operands.back().data, problem.elements * size);
    operands.back().data = out;
  }
  if (problem.bypass_cache) {
    run_kernel({problem.type, problem.reduce_operator, out, problem.form, operands,
                problem.elements, true});
  } else {
    reduce(problem.type, problem.reduce_operator, out, problem.form, operands, problem.elements);
  }
  for (size_t at = 0; at < problem.elements; ++at) {
    const std::byte* wanted = expected.at(problem.count, problem.first + at);
    if (std::memcmp(out + at * size, wanted, size) == 0) continue;
    FAIL() << name_of(problem.reduce_operator) << " of " << problem.count << " "
           << name_of(problem.type) << ", element " << at << " of " << problem.elements << ": "
           << hex(out + at * size, size) << ", not " << hex(wanted, size);
  }
  const std::byte* const end = memory.data() + memory.size();
  EXPECT_EQ(std::count(memory.data(), out, kGuard), out - memory.data()) << "wrote before it";
  out += problem.elements * size;
  EXPECT_EQ(std::count(const_cast<const std::byte*>(out), end, kGuard), end - out)
      << "wrote behind it";
}

using Case = std::tuple<DataType, ReduceOperator>;

class Kernels : public ::testing::TestWithParam<Case> {};

TEST_P(Kernels, WriteTheBitsOfTheReference) {
  const auto [type, reduce_operator] = GetParam();
  std::vector<Pattern> patterns = {Pattern::elements};
  if (size_of(type, Form::partial) != size_of(type)) {
    patterns = {Pattern::elements, Pattern::partials, Pattern::mixed_to_element,
                Pattern::mixed_to_partial};
  }
  for (const Pattern pattern : patterns) {
    const Form form = out_form_of(pattern);
    const std::vector<Input> inputs = make_inputs(type, pattern);
    const Expected expected(type, reduce_operator, form, inputs);
    for_each_instruction_set([&, t = type, o = reduce_operator] {
      for (size_t count = 1; count <= kMaxInputs; ++count) {
        for (const size_t elements : {0,  1,   2,   3,   7,   8,   15,  16,  31,   64,
                                      65, 127, 128, 129, 255, 257, 511, 513, 1024, 1089}) {
          check({t, o, form, count, elements, elements % 5, count % 3 == 0, false}, inputs,
                expected);
          if (HasFatalFailure()) return;
        }
      }
    });
  }
}

// Whatever is left over before the first and behind the last aligned vector of the output.
TEST_P(Kernels, WriteTheSameAroundTheCache) {
  const auto [type, reduce_operator] = GetParam();
  for (const Pattern pattern : {Pattern::elements, Pattern::mixed_to_partial}) {
    const Form form = out_form_of(pattern);
    const std::vector<Input> inputs = make_inputs(type, pattern);
    const Expected expected(type, reduce_operator, form, inputs);
    for_each_instruction_set([&, t = type, o = reduce_operator] {
      for (size_t elements = 1000; elements < 1009; ++elements) {
        for (const size_t first : {0, 1, 3, 16, 61}) {
          check({t, o, form, 3, elements, first, false, true}, inputs, expected);
          if (HasFatalFailure()) return;
        }
      }
    });
  }
}

TEST(LargeOutputs, AreWrittenWhole) {
  // Beyond any second-level cache; at a byte that no vector store can align, and at one that is.
  constexpr size_t kElements = (size_t{16} << 20) + 12345;
  std::vector<uint8_t> left(kElements + 64, 3);
  std::vector<uint8_t> right(kElements + 64, 4);
  for (const size_t offset : {0, 1}) {
    std::vector<uint8_t> out(kElements + 64, 0xa5);
    const ReduceInput inputs[] = {{left.data() + 1, Form::element}, {right.data(), Form::element}};
    reduce(DataType::uint8, ReduceOperator::sum, out.data() + offset, Form::element, inputs,
           kElements);
    EXPECT_EQ(std::count(out.begin(), out.end(), uint8_t{7}), std::ptrdiff_t{kElements});
    EXPECT_EQ(out[offset + kElements], 0xa5);
  }
}

std::string case_name(const ::testing::TestParamInfo<Case>& info) {
  return std::string(name_of(std::get<0>(info.param))) + "_" + name_of(std::get<1>(info.param));
}

std::vector<DataType> all_types() {
  std::vector<DataType> types;
  for (int type = 0; type < kDataTypes; ++type) types.push_back(static_cast<DataType>(type));
  return types;
}

INSTANTIATE_TEST_SUITE_P(
    All, Kernels,
    ::testing::Combine(::testing::ValuesIn(all_types()),
                       ::testing::Values(ReduceOperator::sum, ReduceOperator::product,
                                         ReduceOperator::max, ReduceOperator::min)),
    case_name);

}  // namespace
}  // namespace sluice::sharp
