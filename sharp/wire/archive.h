// SPDX-License-Identifier: Apache-2.0
// Little-endian encoding over spans: the two archives that every wire structure is listed for once.
//
// A structure has `template <class Self, class Archive> static void fields(Self&, Archive&)` that
// hands its members to the archive in wire order; the same list writes and reads. A Reader never
// reads beyond its span: it remembers that it came up short and yields zeros. Thread rule: as any
// value.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

namespace sluice::sharp {

inline constexpr size_t kMaxText = 1024;  // bytes of a string on the wire

template <typename T>
concept WireInteger = std::unsigned_integral<T> && !std::same_as<T, bool>;
template <typename T>
concept WireEnumeration = std::is_enum_v<T>;
// What an archive takes as it is; everything else lists its fields.
template <typename T>
concept WireScalar = WireInteger<T> || WireEnumeration<T> || std::same_as<T, std::string>;

class Writer {
 public:
  explicit Writer(std::vector<std::byte>& out) : out_(out) {}

  template <WireInteger T>
  void operator()(T value) {
    for (size_t byte = 0; byte < sizeof(T); ++byte) {
      out_.push_back(static_cast<std::byte>(value >> (8 * byte)));
    }
  }
  template <WireEnumeration T>
  void operator()(T value) {
    (*this)(static_cast<std::underlying_type_t<T>>(value));
  }
  template <size_t N>
  void operator()(const std::array<uint8_t, N>& bytes) {
    for (const uint8_t byte : bytes) (*this)(byte);
  }
  // A list of structures: a 16-bit count, then each.
  template <typename T>
  void operator()(const std::vector<T>& list) {
    (*this)(static_cast<uint16_t>(list.size()));
    for (const T& item : list) put(item);
  }
  void operator()(const std::string& text) {
    const size_t size = text.size() < kMaxText ? text.size() : kMaxText;
    (*this)(static_cast<uint16_t>(size));
    for (size_t at = 0; at < size; ++at) out_.push_back(static_cast<std::byte>(text[at]));
  }

 private:
  template <typename T>
  void put(const T& item) {
    if constexpr (WireScalar<T>) {
      (*this)(item);
    } else {
      T::fields(item, *this);
    }
  }

  std::vector<std::byte>& out_;
};

class Reader {
 public:
  explicit Reader(std::span<const std::byte> in) : in_(in) {}

  // Everything was there and nothing is left over.
  bool complete() const { return good_ && in_.empty(); }

  template <WireInteger T>
  void operator()(T& value) {
    value = 0;
    const auto bytes = take(sizeof(T));
    for (size_t byte = 0; byte < bytes.size(); ++byte) {
      value = static_cast<T>(value | static_cast<T>(static_cast<T>(bytes[byte]) << (8 * byte)));
    }
  }
  // The value may be none of the enumerators: whoever uses it checks.
  template <WireEnumeration T>
  void operator()(T& value) {
    std::underlying_type_t<T> number = 0;
    (*this)(number);
    value = static_cast<T>(number);
  }
  template <size_t N>
  void operator()(std::array<uint8_t, N>& bytes) {
    for (uint8_t& byte : bytes) (*this)(byte);
  }
  // A count that the remaining bytes cannot hold ends the reading before anything is allocated.
  template <typename T>
  void operator()(std::vector<T>& list) {
    uint16_t count = 0;
    (*this)(count);
    list.clear();
    if (count > in_.size()) good_ = false;
    for (uint16_t at = 0; good_ && at < count; ++at) get(list.emplace_back());
  }
  // What could garble a log line comes out as '?'.
  void operator()(std::string& text) {
    uint16_t size = 0;
    (*this)(size);
    if (size > kMaxText) good_ = false;
    text.clear();
    for (const std::byte byte : take(good_ ? size : 0)) {
      const auto character = static_cast<unsigned char>(byte);
      text.push_back(character < 0x20 || character == 0x7f ? '?' : static_cast<char>(character));
    }
  }

 private:
  template <typename T>
  void get(T& item) {
    if constexpr (WireScalar<T>) {
      (*this)(item);
    } else {
      T::fields(item, *this);
    }
  }
  std::span<const std::byte> take(size_t size) {
    if (!good_ || in_.size() < size) {
      good_ = false;
      return {};
    }
    const auto taken = in_.first(size);
    in_ = in_.subspan(size);
    return taken;
  }

  std::span<const std::byte> in_;
  bool good_ = true;
};

}  // namespace sluice::sharp
