// SPDX-License-Identifier: Apache-2.0
// Operands of collective tests: every rank's input from a seed, and what the sum of them all must
// be.
#pragma once

#include <cstring>
#include <random>
#include <vector>

#include "sharp/client/client.h"
#include "tests/sharp/numbers.h"

namespace sluice::sharp::testing {

using Bytes = std::vector<std::byte>;

inline Bytes input_of(DataType type, size_t count, int rank, uint32_t seed) {
  Bytes bytes(count * size_of(type));
  std::mt19937 random(seed * 1009 + static_cast<uint32_t>(rank));
  if (type == DataType::float8_e4m3 || type == DataType::float8_e5m2) {
    // Both signs, around 1, whatever the format.
    for (std::byte& byte : bytes) {
      byte = static_cast<std::byte>((random() % 16 + 0x30) | (random() % 2 << 7));
    }
    return bytes;
  }
  with_type(type, [&](auto element) {
    using T = decltype(element);
    for (size_t at = 0; at < count; ++at) {
      T value;
      if constexpr (std::is_integral_v<T>) {
        value = static_cast<T>(uint64_t{random()} * 0x9e3779b97f4a7c15);
      } else if constexpr (std::is_floating_point_v<T>) {
        value = static_cast<T>(std::ldexp(static_cast<double>(random() % 4096) - 2000, -10));
      } else {
        value = T::round(std::ldexp(static_cast<double>(random() % 512) - 250, -7));
      }
      std::memcpy(bytes.data() + at * sizeof(T), &value, sizeof(T));
    }
  });
  return bytes;
}

// The reduction in rank order.
inline Bytes expected_of(DataType type, ReduceOperator reduce_operator, size_t count, int ranks,
                         uint32_t seed) {
  std::vector<Bytes> inputs;
  for (int rank = 0; rank < ranks; ++rank) inputs.push_back(input_of(type, count, rank, seed));
  Bytes result(count * size_of(type));
  with_type(type, [&](auto element) {
    using T = decltype(element);
    std::vector<T> column(static_cast<size_t>(ranks));
    for (size_t at = 0; at < count; ++at) {
      for (size_t rank = 0; rank < column.size(); ++rank) {
        std::memcpy(&column[rank], inputs[rank].data() + at * sizeof(T), sizeof(T));
      }
      const T value = reference(column, reduce_operator);
      std::memcpy(result.data() + at * sizeof(T), &value, sizeof(T));
    }
  });
  return result;
}

// One rank's share of an operation.
struct Share {
  Bytes send;
  Bytes receive;
  bool in_place = false;
  DataType type = DataType::float32;
  ReduceOperator reduce_operator = ReduceOperator::sum;
  size_t count = 0;

  Share(DataType t, ReduceOperator o, size_t n, int rank, uint32_t seed, bool place = false)
      : send(input_of(t, n, rank, seed)),
        receive(place ? 0 : n * size_of(t)),
        in_place(place),
        type(t),
        reduce_operator(o),
        count(n) {}

  AllreduceArguments arguments() {
    AllreduceArguments arguments;
    arguments.send = send.data();
    arguments.receive = in_place ? send.data() : receive.data();
    arguments.count = count;
    arguments.type = type;
    arguments.reduce_operator = reduce_operator;
    return arguments;
  }
  const Bytes& result() const { return in_place ? send : receive; }
};

}  // namespace sluice::sharp::testing
