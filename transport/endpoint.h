// SPDX-License-Identifier: Apache-2.0
// Setting connections up: Listener, Connector, and the Context they share.
//
// Set-up always starts over TCP with a hello (magic, version, purpose, secret of the listener, host
// identity); the two then agree on shm (same host, shared memory reachable, allowed) or tcp
// (several streams). The set-up socket stays open as the connection's liveness channel: see
// transport/liveness.h. A stranger, a garbled hello or a peer without Sluice is turned away with
// one sentence; the listener lives on. Thread rule: a Listener or Connector is driven by one thread
// at a time; a Context by any. All calls return at once; time limits are deadlines checked on the
// next call.
#pragma once

#include <netinet/in.h>

#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "base/result.h"
#include "transport/background.h"
#include "transport/transport.h"

namespace sluice::transport {

class LivenessMonitor;

// What a listener is for; a hello for another purpose is refused.
enum class Purpose : uint16_t { net = 1, rendezvous = 2, aggregation = 3, management = 4 };

enum class TransportChoice { automatic, tcp, shm };

// Plain data, filled by the owner of the configuration (plugin, daemon, test). Defaults are the
// documented ones.
struct Settings {
  TransportChoice choice = TransportChoice::automatic;
  bool cross_memory_attach = true;  // allow process_vm_writev
  int streams = 1;                  // tcp data sockets per connection, 1..64
  int socket_buffer = 0;            // SO_SNDBUF/SO_RCVBUF; 0 leaves it to the kernel's auto-tuning
  std::string tcp_congestion;       // the kernel's name of the algorithm; empty: its default
  int in_order_tos = 0;             // IP_TOS byte of control and small messages
  int adaptive_tos = 0;             // IP_TOS byte of further data streams
  size_t shm_ring_bytes = 1 << 20;  // per direction
  Duration connect_timeout = std::chrono::seconds(30);
  Duration accept_timeout =
      std::chrono::seconds(30);  // from the first accept() that found nobody; max() = never
  Duration peer_timeout =
      std::chrono::seconds(20);  // silence of the liveness channel; max() = never
  int connect_retries = 34;      // after "connection refused" (NCCL_SOCKET_RETRY_CNT)
  Duration retry_sleep = std::chrono::milliseconds(100);  // grows by itself each time
};

// Socket address of either family, small and comparable.
class SocketAddress {
 public:
  SocketAddress() = default;
  static Result<SocketAddress> from(const sockaddr* address, socklen_t size);
  // "10.0.0.1:80", "[fe80::1%eth0]:80", "host:80": host names are looked up (may block; tools and
  // start-up only).
  static Result<SocketAddress> parse(const std::string& text);
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage_); }
  socklen_t size() const { return size_; }
  int family() const { return get()->sa_family; }
  uint16_t port() const;
  void set_port(uint16_t port);
  std::string text() const;

 private:
  sockaddr_in6 storage_{};  // large enough for both families
  socklen_t size_ = 0;
};

// What a listener tells the world; trivially copyable: it travels in NCCL's 128-byte handle.
struct ListenerAddress {
  uint32_t magic = 0;
  uint16_t version = 0;
  uint16_t purpose = 0;
  uint64_t secret = 0;  // proves that the connector was given this address; 0: none asked for
  uint64_t host = 0;    // identity of the listener's host (boot id), 0: unknown
  uint16_t family = 0;  // AF_INET / AF_INET6
  uint16_t port = 0;    // host byte order
  uint32_t scope = 0;   // IPv6 scope id (the connector's own is used for link-local addresses)
  uint8_t address[16] = {};
  uint32_t checksum = 0;  // over all the bytes before: tells a truncated or foreign handle
  uint32_t reserved = 0;
};
static_assert(sizeof(ListenerAddress) == 56 && std::is_trivially_copyable_v<ListenerAddress>);

// A clean error for a zeroed, truncated or foreign handle, a wrong version or purpose.
Status check(const ListenerAddress& address, Purpose purpose);
// For a node known by host and port only.
ListenerAddress address_of(const SocketAddress& address, Purpose purpose);
std::string text_of(const ListenerAddress& address);

// What all connections of one communicator (or daemon) share. Outlives them.
class Context {
 public:
  Context(Logger logger, Settings settings);
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  const Logger& logger() const { return logger_; }
  const Settings& settings() const { return settings_; }
  // Runs its thread only while connections are watched; the last one's end joins it.
  LivenessMonitor& liveness() { return *liveness_; }
  // Other threads that work for this context's connections.
  BackgroundThreads& background() { return background_; }
  // Ends all threads for good, with connections open.
  void halt();

 private:
  Logger logger_;
  Settings settings_;
  std::unique_ptr<LivenessMonitor> liveness_;
  BackgroundThreads background_;
};

class Listener {
 public:
  struct Options {
    Purpose purpose = Purpose::net;
    SocketAddress bind;  // port 0: any
    bool secret = true;  // false: strangers who only know host and port may connect (daemons)
  };
  static Result<std::unique_ptr<Listener>> open(Context& context, const Options& options);
  virtual ~Listener() = default;

  virtual ListenerAddress address() const = 0;
  // Drives all set-ups in progress. nullptr: nobody is ready. Error: the accept deadline passed
  // (reported again on each call) or the listening socket itself broke. A peer that fails is logged
  // and dropped.
  virtual Result<std::unique_ptr<Connection>> accept() = 0;
  // Readable when accept() may have work; for event loops, which also call accept() at least each
  // second.
  virtual int event_fd() const = 0;
};

class Connector {
 public:
  static Result<std::unique_ptr<Connector>> open(Context& context, const ListenerAddress& address,
                                                 Purpose purpose);
  virtual ~Connector() = default;
  // nullptr: not yet. An error is final.
  virtual Result<std::unique_ptr<Connection>> progress() = 0;
};

}  // namespace sluice::transport
