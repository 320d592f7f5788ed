// SPDX-License-Identifier: Apache-2.0
// What two processes say to each other before they have a connection. docs/transport.md draws the
// sequence. Fixed little-endian structures behind one header; texts are zero-terminated or fill
// their field.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>

namespace sluice::transport {

static_assert(std::endian::native == std::endian::little, "the wire is little-endian");

enum class SetupType : uint16_t {
  hello = 1,     // connector -> listener
  welcome = 2,   // listener -> connector
  refuse = 3,    // either: the reason, then the end
  attach = 4,    // first message on a further socket: which set-up it belongs to
  ready = 5,     // listener -> connector: the connection stands
  fallback = 6,  // connector -> listener: no shm, let us take tcp
  offer = 7,     // listener -> connector on the unix socket, with the segment
  mapped = 8,    // connector -> listener on the unix socket: segment mapped, memory probed
};

struct SetupHeader {
  uint32_t magic = 0;
  uint16_t version = 0;
  uint16_t type = 0;
  uint32_t size = 0;      // of the body
  uint32_t checksum = 0;  // of the body
};
static_assert(sizeof(SetupHeader) == 16);

inline constexpr uint32_t kSetupMagic = 0x31434c53;  // "SLC1"
inline constexpr uint64_t kForEver = ~uint64_t{0};

struct Hello {
  uint64_t secret = 0;
  uint64_t host = 0;
  uint64_t peer_timeout_ms = kForEver;
  uint32_t process = 0;
  uint16_t purpose = 0;
  uint16_t streams = 1;
  uint8_t choice = 0;  // TransportChoice
  uint8_t cross_memory_attach = 0;
  uint8_t reserved[6] = {};
  std::array<char, 64> host_name{};
};
static_assert(sizeof(Hello) == 104);

struct Welcome {
  uint64_t nonce = 0;
  uint64_t peer_timeout_ms = kForEver;
  uint32_t process = 0;
  uint16_t streams = 1;
  uint8_t kind = 0;  // Kind
  uint8_t cross_memory_attach = 0;
  std::array<char, 64> host_name{};
  std::array<char, 64> socket_name{};  // abstract unix socket, for shm
};
static_assert(sizeof(Welcome) == 152);

struct Refuse {
  std::array<char, 384> sentence{};
};

struct Attach {
  uint64_t nonce = 0;
  uint32_t stream = 0;
  uint32_t reserved = 0;
};

struct Ready {
  uint64_t nonce = 0;
};

struct Fallback {
  std::array<char, 256> reason{};
};

// Each side offers a word of its memory by which the other finds out whether it may write there.
struct ProbeOffer {
  uint64_t address = 0;
  uint64_t value = 0;
};

struct Offer {
  uint64_t segment_size = 0;
  uint64_t ring_bytes = 0;
  ProbeOffer probe;
};

struct Mapped {
  ProbeOffer probe;
};

template <size_t kSize>
void set_text(std::array<char, kSize>& field, const std::string& text) {
  field.fill('\0');
  text.copy(field.data(), kSize - 1);
}

// A peer's text, made fit for a log line.
template <size_t kSize>
std::string text_in(const std::array<char, kSize>& field) {
  std::string text;
  for (const char character : field) {
    if (character == '\0') break;
    text += character >= ' ' && character <= '~' ? character : '?';
  }
  return text;
}

}  // namespace sluice::transport
