// SPDX-License-Identifier: Apache-2.0
// The handwritten digits that scikit-learn ships: 8 x 8 pixels and a label, gzipped CSV.
// Thread rule: immutable once read.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace sluice::train {

inline constexpr size_t kPixels = 64;
inline constexpr size_t kClasses = 10;

struct Digit {
  std::array<float, kPixels> pixels;  // 0 to 1
  int label;
};

struct Dataset {
  std::vector<Digit> training;
  std::vector<Digit> held_out;  // every fifth part after the shuffle
};

// Shuffled by `seed`, the same on every machine.
Result<Dataset> read_digits(const std::string& file, uint64_t seed);

// SplitMix64: small, fixed by this project, not by a library's version.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t next() {
    uint64_t value = state_ += 0x9e3779b97f4a7c15u;
    value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9u;
    value = (value ^ (value >> 27)) * 0x94d049bb133111ebu;
    return value ^ (value >> 31);
  }
  size_t below(size_t limit) { return static_cast<size_t>(next() % limit); }
  float uniform() { return static_cast<float>(next() >> 40) * 0x1p-24f; }  // [0, 1)

 private:
  uint64_t state_;
};

template <typename T>
void shuffle(std::vector<T>& items, Random& random) {
  for (size_t left = items.size(); left > 1; --left) {
    std::swap(items[left - 1], items[random.below(left)]);
  }
}

}  // namespace sluice::train
