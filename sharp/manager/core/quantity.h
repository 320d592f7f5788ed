// SPDX-License-Identifier: Apache-2.0
// Amounts of bytes and rates as people write them. Thread rule: any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace sluice::manager {

// "4GiB", "64 MiB", "512KiB", "1000": bytes.
std::optional<uint64_t> parse_bytes(std::string_view text);
// "400Gbit", "200 Mbit" (bits/s), "25GB", "100MB" (bytes/s), "1000": bytes/s.
std::optional<uint64_t> parse_rate(std::string_view text);

}  // namespace sluice::manager
