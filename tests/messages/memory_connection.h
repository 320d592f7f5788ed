// SPDX-License-Identifier: Apache-2.0
// A pair of connections within one thread, for tests: everything posted on one side waits until the
// other side makes progress; writes may be delivered in another order than posted, as the contract
// allows.
#pragma once

#include <algorithm>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "transport/transport.h"

namespace sluice::transport::test {

class MemoryConnection final : public Connection {
 public:
  static std::pair<std::unique_ptr<MemoryConnection>, std::unique_ptr<MemoryConnection>> make_pair(
      uint32_t shuffle_seed = 0) {
    auto wire = std::make_shared<Wire>();
    wire->shuffle_seed = shuffle_seed;
    return {std::unique_ptr<MemoryConnection>(new MemoryConnection(wire, 0)),
            std::unique_ptr<MemoryConnection>(new MemoryConnection(wire, 1))};
  }
  ~MemoryConnection() override { wire_->open[side_] = false; }

  Kind kind() const override { return Kind::tcp; }
  const std::string& peer() const override { return peer_; }
  Result<std::unique_ptr<MemoryRegion>> register_memory(void* data, size_t size,
                                                        MemoryType type) override {
    return std::make_unique<MemoryRegion>(static_cast<std::byte*>(data), size, type);
  }

  Status announce(std::span<const LocalWindow> windows, std::span<const std::byte> note) override {
    Event event{Event::Kind::announcement, {note.begin(), note.end()}, {}, {}};
    for (const LocalWindow& window : windows) {
      wire_->windows[side_][window.id] = window;
      event.windows.push_back({window.id, window.size, 0, 0});
    }
    post(std::move(event));
    return status_;
  }
  void withdraw(WindowId window) override { wire_->windows[side_].erase(window); }
  Status send_message(std::span<const std::byte> head, std::span<const std::byte> body) override {
    Event event{Event::Kind::message, {head.begin(), head.end()}, {}, {}};
    event.bytes.insert(event.bytes.end(), body.begin(), body.end());
    post(std::move(event));
    return status_;
  }
  Status write(const Write& write) override {
    Event event{Event::Kind::write, {write.record.begin(), write.record.end()}, {}, write};
    post(std::move(event));
    ++writes;
    return status_;
  }
  Status flush() override { return status_; }
  Status progress(ConnectionHandler& handler) override {
    if (status_) status_ = deliver(handler);
    if (status_ && wire_->inbox[side_].empty() && !wire_->open[1 - side_]) {
      status_ = fail(ErrorKind::remote, "peer closed");
    }
    return status_;
  }
  Status status() const override { return status_; }
  int event_fd() const override { return -1; }
  bool prepare_wait() override { return false; }
  Counters counters() const override { return {}; }

  int writes = 0;

 private:
  struct Event {
    enum class Kind { announcement, message, write, written } kind;
    std::vector<std::byte> bytes;
    std::vector<RemoteWindow> windows;
    Write write;
  };
  struct Wire {
    std::deque<Event> inbox[2];
    std::map<WindowId, LocalWindow> windows[2];
    bool open[2] = {true, true};
    uint32_t shuffle_seed = 0;
  };

  MemoryConnection(std::shared_ptr<Wire> wire, int side) : wire_(std::move(wire)), side_(side) {}

  void post(Event event) { wire_->inbox[1 - side_].push_back(std::move(event)); }

  Status deliver(ConnectionHandler& handler) {
    std::deque<Event> events = std::exchange(wire_->inbox[side_], {});
    if (wire_->shuffle_seed != 0) {
      std::mt19937 random(wire_->shuffle_seed++);
      auto first_write = std::stable_partition(events.begin(), events.end(), [](const Event& e) {
        return e.kind != Event::Kind::write;
      });
      std::shuffle(first_write, events.end(), random);
    }
    for (Event& event : events) SLUICE_RETURN_IF_ERROR(deliver(handler, event));
    return {};
  }

  Status deliver(ConnectionHandler& handler, Event& event) {
    switch (event.kind) {
      case Event::Kind::announcement:
        return handler.on_announcement(event.windows, event.bytes);
      case Event::Kind::message:
        return handler.on_message(event.bytes);
      case Event::Kind::written:
        return handler.on_written(event.write.token);
      case Event::Kind::write:
        break;
    }
    const Write& write = event.write;
    const auto window = wire_->windows[side_].find(write.window.id);
    if (window == wire_->windows[side_].end() || write.offset + write.size > window->second.size) {
      return fail(ErrorKind::remote, "write outside any window");
    }
    if (write.size > 0) {
      std::memcpy(window->second.address + write.offset, write.data, write.size);
    }
    post({Event::Kind::written, {}, {}, write});
    return handler.on_arrival(write.window.id, write.offset, write.size, event.bytes);
  }

  std::shared_ptr<Wire> wire_;
  const int side_;
  const std::string peer_ = "memory";
  Status status_;
};

}  // namespace sluice::transport::test
