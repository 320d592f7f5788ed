// SPDX-License-Identifier: Apache-2.0
// For the transport's tests: connected pairs of every kind in one process, driven by one thread,
// and a handler that keeps what came.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "transport/endpoint.h"
#include "transport/transport.h"

namespace sluice::transport {

using namespace std::chrono_literals;

// Slow machines under sanitizers need much; a test that works never waits for it.
inline constexpr Duration kPatience = 60s;

struct Variant {
  const char* name;
  TransportChoice choice;
  int streams;
  bool direct;
  bool ipv6;
};
inline constexpr Variant kVariants[] = {
    {"tcp1", TransportChoice::tcp, 1, false, false},
    {"tcp4", TransportChoice::tcp, 4, false, false},
    {"tcp6", TransportChoice::tcp, 1, false, true},
    {"shm_direct", TransportChoice::shm, 1, true, false},
    {"shm_ring", TransportChoice::shm, 1, false, false},
};
inline void PrintTo(const Variant& variant, std::ostream* out) {
  *out << variant.name;
}
inline std::string name_of_variant(const testing::TestParamInfo<Variant>& info) {
  return info.param.name;
}

inline Settings settings_for(const Variant& variant) {
  Settings settings;
  settings.choice = variant.choice;
  settings.streams = variant.streams;
  settings.cross_memory_attach = variant.direct;
  return settings;
}

inline SocketAddress loopback(bool ipv6 = false) {
  return *SocketAddress::parse(ipv6 ? "[::1]:0" : "127.0.0.1:0");
}

class Recorder : public ConnectionHandler {
 public:
  struct Announcement {
    std::vector<RemoteWindow> windows;
    std::string note;
  };
  struct Arrival {
    WindowId window;
    uint64_t offset;
    uint64_t size;
    std::string record;
  };

  Status on_announcement(std::span<const RemoteWindow> windows,
                         std::span<const std::byte> note) override {
    announcements.push_back({{windows.begin(), windows.end()}, text(note)});
    order += 'a';
    for (const RemoteWindow& window : windows) remote[window.id] = window;
    return answer();
  }
  Status on_message(std::span<const std::byte> message) override {
    messages.push_back(text(message));
    order += 'm';
    if (when_message) when_message();
    return answer();
  }
  Status on_arrival(WindowId window, uint64_t offset, uint64_t size,
                    std::span<const std::byte> record) override {
    arrivals.push_back({window, offset, size, text(record)});
    if (when_arrival) when_arrival(arrivals.back());
    return answer();
  }
  Status on_written(uint64_t token) override {
    written.push_back(token);
    if (when_written) when_written(token);
    return answer();
  }

  std::vector<Announcement> announcements;
  std::map<WindowId, RemoteWindow> remote;
  std::vector<std::string> messages;
  std::vector<Arrival> arrivals;
  std::vector<uint64_t> written;
  std::string order;
  std::function<void()> when_message;
  std::function<void(const Arrival&)> when_arrival;
  std::function<void(uint64_t)> when_written;
  std::optional<Error> failure;

 private:
  static std::string text(std::span<const std::byte> bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  Status answer() const {
    if (failure) return fail(*failure);
    return {};
  }
};

inline std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

// Collects log lines; its Logger may be used from any thread.
class LogCatcher {
 public:
  Logger logger() { return {&LogCatcher::sink, this}; }
  bool contains(const std::string& part) {
    const std::lock_guard lock(mutex_);
    return text_.find(part) != std::string::npos;
  }
  std::string text() {
    const std::lock_guard lock(mutex_);
    return text_;
  }

 private:
  static void sink(void* context, LogLevel, LogSubsystem, const char*, int, const char* text) {
    auto* self = static_cast<LogCatcher*>(context);
    const std::lock_guard lock(self->mutex_);
    self->text_ += std::string(text) + '\n';
  }
  std::mutex mutex_;
  std::string text_;
};

struct End {
  std::unique_ptr<Connection> connection;
  Recorder handler;
  Status progress() { return connection->progress(handler); }
};

inline bool wait_for(const std::function<bool()>& done, Duration patience = kPatience) {
  const Deadline deadline = Deadline::after(patience);
  while (!done()) {
    if (deadline.passed()) return false;
  }
  return true;
}

// Two connected ends: `left` connected, `right` accepted.
class Pair {
 public:
  explicit Pair(const Settings& settings, bool ipv6 = false)
      : context(std::make_unique<Context>(log.logger(), settings)) {
    connect(ipv6);
  }
  explicit Pair(const Variant& variant) : Pair(settings_for(variant), variant.ipv6) {}

  bool ok() const { return left.connection && right.connection; }
  // Drives both ends until `done`; a failing end is a failure of the test.
  bool pump(const std::function<bool()>& done) {
    return wait_for([&] {
      const Status l = left.progress();
      const Status r = right.progress();
      if (l && r) return done();
      ADD_FAILURE() << (l ? r : l).error().message;
      return true;
    });
  }

  LogCatcher log;
  std::unique_ptr<Context> context;
  std::unique_ptr<Listener> listener;
  End left;
  End right;

 private:
  void connect(bool ipv6) {
    Listener::Options options;
    options.bind = loopback(ipv6);
    auto opened = Listener::open(*context, options);
    if (!opened) return fail_with(opened.error());
    listener = std::move(*opened);
    auto connector = Connector::open(*context, listener->address(), Purpose::net);
    if (!connector) return fail_with(connector.error());
    const bool connected = wait_for([&] {
      if (!left.connection) take(left, (*connector)->progress());
      if (!right.connection) take(right, listener->accept());
      return failed || (left.connection && right.connection);
    });
    if (!connected) ADD_FAILURE() << "not connected in time";
  }
  void take(End& end, Result<std::unique_ptr<Connection>> result) {
    if (!result) return fail_with(result.error());
    end.connection = std::move(*result);
  }
  void fail_with(const Error& error) {
    failed = true;
    ADD_FAILURE() << error.message;
  }
  bool failed = false;
};

// Deterministic bytes, different for every seed and position.
inline std::vector<std::byte> pattern(size_t size, uint64_t seed) {
  std::vector<std::byte> bytes(size);
  uint64_t state = seed * 0x9e3779b97f4a7c15ULL + 1;
  for (std::byte& byte : bytes) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    byte = static_cast<std::byte>(state >> 56);
  }
  return bytes;
}

}  // namespace sluice::transport
