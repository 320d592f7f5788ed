// SPDX-License-Identifier: Apache-2.0
#include "tests/sharp/memory_connection.h"

#include <algorithm>
#include <cstring>

namespace sluice::sharp::testing {
namespace {

using transport::Confirm;
using transport::Connection;
using transport::ConnectionHandler;
using transport::LocalWindow;
using transport::MemoryRegion;
using transport::MemoryType;
using transport::RemoteWindow;
using transport::WindowId;
using transport::Write;

using Bytes = std::vector<std::byte>;

struct Control {
  bool announcement = false;
  std::vector<RemoteWindow> windows;
  Bytes bytes;  // a message, or the note of an announcement
};

struct PostedWrite {
  RemoteWindow window;
  uint64_t offset = 0;
  Bytes payload;
  Bytes record;
};

// One direction.
struct Pipe {
  explicit Pipe(const Mischief& posted) : mischief(posted), random(posted.seed) {}
  Mischief mischief;
  std::mt19937 random;
  std::deque<Control> controls;
  std::vector<PostedWrite> writes;
  std::map<WindowId, LocalWindow> windows;  // of the reader
  bool writer_gone = false;
  bool reader_gone = false;
};

class MemoryConnection final : public Connection {
 public:
  MemoryConnection(std::shared_ptr<Pipe> out, std::shared_ptr<Pipe> in)
      : out_(std::move(out)), in_(std::move(in)) {}
  ~MemoryConnection() override {
    out_->writer_gone = true;
    in_->reader_gone = true;
    in_->windows.clear();
  }

  transport::Kind kind() const override { return transport::Kind::shm; }
  const std::string& peer() const override { return peer_; }
  Result<std::unique_ptr<MemoryRegion>> register_memory(void* data, size_t size,
                                                        MemoryType type) override {
    return std::make_unique<MemoryRegion>(static_cast<std::byte*>(data), size, type);
  }

  Status announce(std::span<const LocalWindow> windows, std::span<const std::byte> note) override {
    if (!status_) return status_;
    Control control{true, {}, Bytes(note.begin(), note.end())};
    for (const LocalWindow& window : windows) {
      in_->windows[window.id] = window;
      control.windows.push_back({window.id, window.size, 0, 0});
    }
    out_->controls.push_back(std::move(control));
    return {};
  }
  void withdraw(WindowId window) override { in_->windows.erase(window); }

  Status send_message(std::span<const std::byte> head, std::span<const std::byte> body) override {
    if (!status_) return status_;
    Control control;
    control.bytes.assign(head.begin(), head.end());
    control.bytes.insert(control.bytes.end(), body.begin(), body.end());
    if (out_->mischief.corrupt && !body.empty()) {
      out_->mischief.corrupt(std::span(control.bytes).last(body.size()));
    }
    bytes_sent_ += control.bytes.size();
    out_->controls.push_back(std::move(control));
    return {};
  }

  Status write(const Write& write) override {
    if (!status_) return status_;
    PostedWrite posted{write.window, write.offset, Bytes(write.data, write.data + write.size),
                       Bytes(write.record.begin(), write.record.end())};
    if (out_->mischief.corrupt) out_->mischief.corrupt(posted.payload);
    bytes_sent_ += write.size;
    out_->writes.push_back(std::move(posted));
    confirmations_.push_back(write.token);
    return {};
  }

  Status flush() override { return status_; }

  Status progress(ConnectionHandler& handler) override {
    if (!status_) return status_;
    Status status = deliver(handler);
    if (status && in_->writer_gone && in_->controls.empty() && in_->writes.empty()) {
      status = fail(ErrorKind::remote, "the peer has closed the connection");
    }
    if (!status) status_ = status;
    return status_;
  }

  Status status() const override { return status_; }
  int event_fd() const override { return -1; }
  // Nothing is to be done at once; what comes later must be told by the test.
  bool prepare_wait() override {
    return in_->controls.empty() && in_->writes.empty() && confirmations_.empty();
  }
  Counters counters() const override { return {bytes_sent_, bytes_received_}; }

 private:
  Status deliver(ConnectionHandler& handler) {
    std::deque<uint64_t> confirmed;
    confirmed.swap(confirmations_);
    for (const uint64_t token : confirmed) SLUICE_RETURN_IF_ERROR(handler.on_written(token));
    std::bernoulli_distribution now(in_->mischief.delivery);
    while (!in_->controls.empty() && now(in_->random)) {
      const Control control = std::move(in_->controls.front());
      in_->controls.pop_front();
      bytes_received_ += control.bytes.size() + 1;
      SLUICE_RETURN_IF_ERROR(control.announcement
                                 ? handler.on_announcement(control.windows, control.bytes)
                                 : handler.on_message(control.bytes));
    }
    if (in_->mischief.delivery < 1) {
      std::shuffle(in_->writes.begin(), in_->writes.end(), in_->random);
    }
    while (!in_->writes.empty() && now(in_->random)) {
      const PostedWrite write = std::move(in_->writes.front());
      in_->writes.erase(in_->writes.begin());
      SLUICE_RETURN_IF_ERROR(land(write, handler));
    }
    return {};
  }

  Status land(const PostedWrite& write, ConnectionHandler& handler) {
    const auto found = in_->windows.find(write.window.id);
    const uint64_t size = write.payload.size();
    if (found == in_->windows.end() || write.offset + size > found->second.size) {
      return fail(ErrorKind::remote, "a write beyond an announced window");
    }
    if (size > 0) {
      std::memcpy(found->second.address + write.offset, write.payload.data(), write.payload.size());
    }
    bytes_received_ += size + 1;
    return handler.on_arrival(write.window.id, write.offset, size, write.record);
  }

  std::shared_ptr<Pipe> out_;
  std::shared_ptr<Pipe> in_;
  std::string peer_ = "memory";
  Status status_;
  std::deque<uint64_t> confirmations_;
  uint64_t bytes_sent_ = 0;
  uint64_t bytes_received_ = 0;
};

}  // namespace

MemoryPair make_memory_pair(const Mischief& from_first, const Mischief& from_second) {
  auto down = std::make_shared<Pipe>(from_first);
  auto up = std::make_shared<Pipe>(from_second);
  return {std::make_unique<MemoryConnection>(down, up),
          std::make_unique<MemoryConnection>(up, down)};
}

}  // namespace sluice::sharp::testing
