// SPDX-License-Identifier: Apache-2.0
// The transport: connections between two processes, designed for RDMA first.
//
// A receiver *announces* windows of its memory (address, size, key); the peer *writes* straight
// into an announced window, and each write delivers a small record to the receiver once all its
// bytes are there. Small ordered *messages* carry everything else. verbs maps this 1:1 (RDMA WRITE
// + immediate, SEND); tcp emulates a write by framing bytes that the receiver reads straight into
// the window; shm by process_vm_writev, or by a bounded ring where that is not allowed.
//
// Thread rule: a Connection is driven by one thread at a time (NCCL's progress thread). Memory may
// be registered and deregistered from another thread meanwhile. Different connections are
// independent. Nothing here blocks: posting only queues and returns; the caller bounds how much it
// posts. Errors: the first error of a connection sticks and is returned by every later call. Sizes
// are bytes, addresses are this process's virtual addresses unless said otherwise.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/result.h"

namespace sluice::transport {

enum class Kind : uint8_t { tcp = 1, shm = 2, verbs = 3, ucx = 4 };
const char* name_of(Kind kind);

enum class MemoryType { host, cuda };

// Memory that a connection may send from or announce. Owned by whoever registered it; must outlive
// every post that names it. Transports that need keys derive from it.
class MemoryRegion {
 public:
  MemoryRegion(std::byte* address, size_t size, MemoryType type)
      : address_(address), size_(size), type_(type) {}
  virtual ~MemoryRegion() = default;
  MemoryRegion(const MemoryRegion&) = delete;
  MemoryRegion& operator=(const MemoryRegion&) = delete;

  std::byte* address() const { return address_; }
  size_t size() const { return size_; }
  MemoryType type() const { return type_; }
  bool contains(const void* data, size_t size) const {
    const auto* first = static_cast<const std::byte*>(data);
    return first >= address_ && size <= size_ &&
           static_cast<size_t>(first - address_) <= size_ - size;
  }

 private:
  std::byte* address_;
  size_t size_;
  MemoryType type_;
};

// Windows are numbered by the receiver, densely from 0, below kMaxWindows.
using WindowId = uint32_t;
inline constexpr WindowId kMaxWindows = 1024;

struct LocalWindow {
  WindowId id = 0;
  std::byte* address = nullptr;  // may be null when size is 0
  size_t size = 0;
  const MemoryRegion* region = nullptr;  // may be null for transports that need no keys
};

// What the peer announced. Address and key mean something to the transport only.
struct RemoteWindow {
  WindowId id = 0;
  uint64_t size = 0;
  uint64_t address = 0;
  uint64_t key = 0;
};

inline constexpr size_t kMaxRecord = 128;          // bytes that travel with a write
inline constexpr size_t kMaxNote = 256;            // bytes that travel with an announcement
inline constexpr size_t kMaxWindowsPerNote = 8;    // windows in one announcement
inline constexpr size_t kMaxMessage = 4096 + 256;  // bytes of a message

// Called from within Connection::progress(), on the caller's thread; spans are valid during the
// call only. May post on the same connection. An error returned here fails the connection with it.
class ConnectionHandler {
 public:
  virtual ~ConnectionHandler() = default;
  virtual Status on_announcement(std::span<const RemoteWindow> windows,
                                 std::span<const std::byte> note) = 0;
  virtual Status on_message(std::span<const std::byte> message) = 0;
  // All bytes of one write by the peer are in place.
  virtual Status on_arrival(WindowId window, uint64_t offset, uint64_t size,
                            std::span<const std::byte> record) = 0;
  // A write of ours is done in the sense that was asked for.
  virtual Status on_written(uint64_t token) = 0;
};

// When on_written() is called.
enum class Confirm {
  buffer_reusable,  // the local data may be overwritten
  landed,           // the data is in the peer's memory, as RDMA means it
};

struct Write {
  RemoteWindow window;
  uint64_t offset = 0;                   // into the window
  const std::byte* data = nullptr;       // stays valid until on_written(token)
  size_t size = 0;                       // 0 delivers the record alone
  const MemoryRegion* region = nullptr;  // of data; may be null for transports that need no keys
  std::span<const std::byte> record;     // copied; at most kMaxRecord
  uint64_t token = 0;                    // given back by on_written()
  Confirm confirm = Confirm::landed;
};

// Order: messages and announcements arrive in the order they were posted, relative to each other.
// Writes are delivered once each, whole, in any order relative to everything else.
class Connection {
 public:
  virtual ~Connection() = default;

  virtual Kind kind() const = 0;
  // "10.0.0.2:4711 (rank host name, pid 17)"-like text for logs and errors.
  virtual const std::string& peer() const = 0;

  virtual Result<std::unique_ptr<MemoryRegion>> register_memory(void* data, size_t size,
                                                                MemoryType type) = 0;

  // Lets the peer write into the windows until they are withdrawn. Announcing a window id again
  // replaces it.
  virtual Status announce(std::span<const LocalWindow> windows,
                          std::span<const std::byte> note) = 0;
  // Local: from here on nothing is written there; a write that still comes is a protocol error of
  // the peer.
  virtual void withdraw(WindowId window) = 0;
  virtual Status send_message(std::span<const std::byte> head, std::span<const std::byte> body) = 0;
  virtual Status write(const Write& write) = 0;

  // Pushes what was posted as far as it goes now, reads nothing.
  virtual Status flush() = 0;
  // Pushes and reads; calls the handler. Bounded work per call.
  virtual Status progress(ConnectionHandler& handler) = 0;
  // The first error, sticky; OK while the connection lives. Cheap.
  virtual Status status() const = 0;

  // For event loops (daemons); NCCL's threads poll instead. prepare_wait() returns false when
  // progress() has work at once; otherwise event_fd() becomes readable (epoll) when it may have.
  virtual int event_fd() const = 0;
  virtual bool prepare_wait() = 0;

  // Bytes handed to and taken from the medium, headers included.
  struct Counters {
    uint64_t bytes_sent = 0;
    uint64_t bytes_received = 0;
  };
  virtual Counters counters() const = 0;
};

}  // namespace sluice::transport
