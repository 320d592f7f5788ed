// SPDX-License-Identifier: Apache-2.0
// The listening side of set-up. A guest is a fresh socket that has not said who it is; its first
// message makes it an embryo (hello) or part of one (attach). Guests and embryos that stall are
// dropped after a while, and harm nobody. Thread rule: transport/endpoint.h.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <unordered_map>

#include "transport/setup/embryo.h"

namespace sluice::transport {

class TcpListener final : public Listener {
 public:
  static Result<std::unique_ptr<Listener>> open(Context& context, const Options& options);

  ListenerAddress address() const override { return address_; }
  Result<std::unique_ptr<Connection>> accept() override;
  int event_fd() const override { return epoll_.get(); }

 private:
  struct Guest {
    SetupSocket socket;
    std::string from;
    bool local;
    TimePoint deadline;
  };
  struct Growing {
    std::unique_ptr<Embryo> embryo;
    int steps;
    TimePoint deadline;
  };

  explicit TcpListener(Host host) : host_(std::move(host)), bad_guests_(20) {}
  Status bind_to(const Options& options);
  void open_local();
  void handle_events();
  void welcome_guests(int listening, bool local);
  void hear(uint64_t id);
  void introduce(uint64_t id, Guest guest, const SetupMessage& message);
  void attach(Guest guest, const Attach& attach);
  void grow(uint64_t id);
  void expire();
  void dismiss(const std::string& who, const Error& error);
  bool watch(int fd, uint64_t id);

  static constexpr uint64_t kListeningId = 0;
  static constexpr uint64_t kLocalId = 1;

  Host host_;
  ListenerAddress address_;
  std::string text_;
  FileDescriptor epoll_;
  FileDescriptor listening_;
  FileDescriptor local_;
  uint64_t next_id_ = 2;
  std::unordered_map<uint64_t, Guest> guests_;
  std::unordered_map<uint64_t, Growing> embryos_;
  std::deque<std::unique_ptr<Connection>> ready_;
  std::optional<Deadline> waiting_;
  std::optional<Error> broken_;
  TimePoint last_call_ = Clock::now();
  LogLimiter bad_guests_;
};

}  // namespace sluice::transport
