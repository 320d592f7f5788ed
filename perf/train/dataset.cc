// SPDX-License-Identifier: Apache-2.0
#include "perf/train/dataset.h"

#include <zlib.h>

#include <cstdlib>
#include <memory>

namespace sluice::train {
namespace {

constexpr float kBrightest = 16;

struct CloseGzip {
  void operator()(gzFile file) const { ::gzclose(file); }
};
using Gzip = std::unique_ptr<gzFile_s, CloseGzip>;

// 64 pixels and a label with commas between.
bool parse_line(const char* text, Digit* digit) {
  for (size_t column = 0; column <= kPixels; ++column) {
    char* end = nullptr;
    const double value = std::strtod(text, &end);
    if (end == text || value < 0 || value > static_cast<double>(kBrightest)) return false;
    if (column == kPixels) {
      digit->label = static_cast<int>(value);
      return digit->label < static_cast<int>(kClasses) && (*end == '\n' || *end == '\0');
    }
    if (*end != ',') return false;
    digit->pixels[column] = static_cast<float>(value) / kBrightest;
    text = end + 1;
  }
  return false;
}

}  // namespace

Result<Dataset> read_digits(const std::string& file, uint64_t seed) {
  const Gzip input(::gzopen(file.c_str(), "rbe"));
  if (input == nullptr) return fail_errno(errno, "cannot open " + file);
  std::vector<Digit> digits;
  char line[4096];
  while (::gzgets(input.get(), line, sizeof line) != nullptr) {
    Digit digit{};
    if (!parse_line(line, &digit)) {
      return fail(ErrorKind::invalid_argument,
                  file + " line " + std::to_string(digits.size() + 1) +
                      ": expected 64 pixels of 0 to 16 and a label of 0 to 9");
    }
    digits.push_back(digit);
  }
  if (digits.size() < 100) {
    return fail(ErrorKind::invalid_argument,
                file + " holds only " + std::to_string(digits.size()) + " digits");
  }
  Random random(seed);
  shuffle(digits, random);
  const auto split = digits.begin() + static_cast<std::ptrdiff_t>(digits.size() * 4 / 5);
  return Dataset{{digits.begin(), split}, {split, digits.end()}};
}

}  // namespace sluice::train
