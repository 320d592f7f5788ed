// SPDX-License-Identifier: Apache-2.0
// Message channels: NCCL's send and receive on top of a Connection.
//
// A receiver posts grouped receives (up to 8 buffers with tags) and announces them; a sender's
// messages are matched with the oldest announced group (transport/messages/matching.h) and written
// straight into the buffers. Sends and receives are accepted without the peer making progress: 32
// groups of receives, 32 x 8 sends. A send shorter than its buffer completes with its size; a
// longer one is truncated to the buffer, both sides report the smaller size. Zero-byte messages
// complete and report 0. Ownership: a channel owns its connection and all of its requests; a
// Request pointer is valid until the call of test() that says done, or until the channel goes.
// Thread rule: as Connection: one thread drives a channel at a time.
#pragma once

#include <array>
#include <memory>
#include <span>

#include "base/result.h"
#include "transport/transport.h"

namespace sluice::transport {

inline constexpr int kMaxGroup = 8;           // buffers of one grouped receive
inline constexpr int kMaxReceiveGroups = 32;  // outstanding per channel
inline constexpr int kMaxSends = kMaxReceiveGroups * kMaxGroup;

struct ReceiveBuffer {
  void* data = nullptr;
  size_t size = 0;
  int tag = 0;
  const MemoryRegion* region = nullptr;
};

// What test() knows of a request.
struct Completion {
  bool done = false;
  int count = 0;  // messages: 1 for a send, the group's size for a receive
  std::array<size_t, kMaxGroup> sizes{};
};

class Channel;

// A slot in its channel; never copied or freed by others.
struct Request {
  Channel* channel = nullptr;
  bool in_use = false;
  bool done = false;
  int count = 0;
  int remaining = 0;
  std::array<size_t, kMaxGroup> sizes{};
};

class Channel {
 public:
  virtual ~Channel() = default;
  // Progresses the connection unless the request is done already. When done, the request is free
  // again.
  Result<Completion> test(Request& request);
  Connection& connection() { return *connection_; }

 protected:
  explicit Channel(std::unique_ptr<Connection> connection) : connection_(std::move(connection)) {}
  virtual Status progress() = 0;
  std::unique_ptr<Connection> connection_;
};

class SendChannel : public Channel {
 public:
  static std::unique_ptr<SendChannel> create(std::unique_ptr<Connection> connection);
  // nullptr: all requests are in use, try again.
  virtual Result<Request*> send(const void* data, size_t size, int tag,
                                const MemoryRegion* region) = 0;

 protected:
  using Channel::Channel;
};

class ReceiveChannel : public Channel {
 public:
  static std::unique_ptr<ReceiveChannel> create(std::unique_ptr<Connection> connection);
  // 1..kMaxGroup buffers. nullptr: all requests are in use, try again.
  virtual Result<Request*> receive(std::span<const ReceiveBuffer> buffers) = 0;

 protected:
  using Channel::Channel;
};

}  // namespace sluice::transport
