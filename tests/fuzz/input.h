// SPDX-License-Identifier: Apache-2.0
// What a fuzzer's bytes mean: numbers and spans taken from the front; zeros when they run out.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace sluice::fuzz {

class Input {
 public:
  Input(const uint8_t* data, size_t size) : left_(reinterpret_cast<const std::byte*>(data), size) {}

  bool empty() const { return left_.empty(); }

  template <typename T>
  T number() {
    T value{};
    const auto bytes = take(sizeof value);
    if (!bytes.empty()) std::memcpy(&value, bytes.data(), bytes.size());
    return value;
  }
  // Below `bound`.
  uint32_t below(uint32_t bound) { return number<uint8_t>() % bound; }

  std::span<const std::byte> take(size_t size) {
    const auto taken = left_.first(std::min(size, left_.size()));
    left_ = left_.subspan(taken.size());
    return taken;
  }
  std::span<const std::byte> rest() { return take(left_.size()); }

 private:
  std::span<const std::byte> left_;
};

}  // namespace sluice::fuzz
