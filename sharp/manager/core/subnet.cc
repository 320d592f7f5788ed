// SPDX-License-Identifier: Apache-2.0
#include "sharp/manager/core/subnet.h"

#include <arpa/inet.h>

#include <algorithm>
#include <charconv>
#include <string>

namespace sluice::manager {

namespace {

constexpr unsigned kMappedBits = 96;  // in front of an IPv4 address

}  // namespace

std::optional<IpAddress> parse_ip_address(std::string_view text) {
  const std::string copy(text);
  IpAddress address{};
  if (inet_pton(AF_INET6, copy.c_str(), address.data()) == 1) return address;
  address = {};
  address[10] = address[11] = 0xff;
  if (inet_pton(AF_INET, copy.c_str(), address.data() + 12) == 1) return address;
  return std::nullopt;
}

std::optional<Subnet> Subnet::parse(std::string_view text) {
  const size_t slash = text.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  const std::string_view base = text.substr(0, slash);
  const std::string_view bits = text.substr(slash + 1);
  const auto address = parse_ip_address(base);
  if (!address) return std::nullopt;
  const unsigned most = base.find(':') == std::string_view::npos ? 32 : 128;
  unsigned prefix = 0;
  const auto [end, error] = std::from_chars(bits.data(), bits.data() + bits.size(), prefix);
  if (error != std::errc() || end != bits.data() + bits.size() || prefix > most) {
    return std::nullopt;
  }
  Subnet subnet;
  subnet.prefix_ = most == 32 ? kMappedBits + prefix : prefix;
  for (unsigned bit = 0; bit < subnet.prefix_; ++bit) {
    subnet.base_[bit / 8] |= static_cast<uint8_t>((*address)[bit / 8] & (0x80u >> (bit % 8)));
  }
  return subnet;
}

bool Subnet::contains(const IpAddress& address) const {
  const unsigned whole = prefix_ / 8;
  if (!std::equal(base_.begin(), base_.begin() + whole, address.begin())) return false;
  if (prefix_ % 8 == 0) return true;
  const unsigned mask = (0xff00u >> (prefix_ % 8)) & 0xffu;
  return (base_[whole] & mask) == (address[whole] & mask);
}

}  // namespace sluice::manager
