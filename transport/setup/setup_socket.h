// SPDX-License-Identifier: Apache-2.0
// One socket during set-up: sends and receives setup messages (and, on a unix socket, descriptors)
// without blocking, and never reads a byte beyond the message it was asked for. Thread rule: one
// thread at a time.
#pragma once

#include <array>
#include <cstring>
#include <optional>
#include <span>
#include <vector>

#include "base/result.h"
#include "transport/file_descriptor.h"
#include "transport/setup/messages.h"

namespace sluice::transport {

inline constexpr size_t kMaxSetupBody = 384;
inline constexpr size_t kMaxPassedDescriptors = 3;

struct SetupMessage {
  SetupType type{};
  std::array<std::byte, kMaxSetupBody> body{};
  std::vector<FileDescriptor> descriptors;

  template <typename Body>
  Body as() const {
    static_assert(std::is_trivially_copyable_v<Body> && sizeof(Body) <= kMaxSetupBody);
    Body body_value;
    std::memcpy(&body_value, body.data(), sizeof body_value);
    return body_value;
  }
};

class SetupSocket {
 public:
  explicit SetupSocket(FileDescriptor socket) : socket_(std::move(socket)) {}

  int fd() const { return socket_.get(); }
  FileDescriptor release() { return std::move(socket_); }

  // Set-up messages are small and few: they always fit an empty socket buffer, so a short send is
  // an error.
  template <typename Body>
  Status send(SetupType type, const Body& body, std::span<const int> descriptors = {}) {
    static_assert(std::is_trivially_copyable_v<Body> && sizeof(Body) <= kMaxSetupBody);
    return send_bytes(type, &body, sizeof body, descriptors);
  }
  // nullopt: not yet. A peer that ended or speaks something else is an error, told as the rest of a
  // sentence that starts with its name.
  Result<std::optional<SetupMessage>> receive();

 private:
  Status send_bytes(SetupType type, const void* body, size_t size,
                    std::span<const int> descriptors);
  Result<bool> fill(size_t wanted);
  Status check_header() const;

  FileDescriptor socket_;
  std::array<std::byte, sizeof(SetupHeader) + kMaxSetupBody> bytes_{};
  size_t received_ = 0;
  std::vector<FileDescriptor> descriptors_;
};

}  // namespace sluice::transport
