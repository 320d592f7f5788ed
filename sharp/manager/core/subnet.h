// SPDX-License-Identifier: Apache-2.0
// IP subnets in the usual notation ("10.1.0.0/16", "fd00::/8"). Thread rule: as any value.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace sluice::manager {

// 16 bytes; IPv4 as ::ffff:a.b.c.d.
using IpAddress = std::array<uint8_t, 16>;
std::optional<IpAddress> parse_ip_address(std::string_view text);

class Subnet {
 public:
  // None if the text is no subnet.
  static std::optional<Subnet> parse(std::string_view text);
  bool contains(const IpAddress& address) const;
  unsigned prefix() const { return prefix_; }  // bits of 128
  friend bool operator==(const Subnet&, const Subnet&) = default;

 private:
  IpAddress base_{};
  unsigned prefix_ = 0;
};

}  // namespace sluice::manager
