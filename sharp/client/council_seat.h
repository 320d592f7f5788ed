// SPDX-License-Identifier: Apache-2.0
// A connection of the council as one end sees it: another rank, what it has said, whether it is
// still there. Thread rule: the council's thread.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "sharp/client/agreement.h"
#include "sharp/wire/reform.h"
#include "sharp/wire/rendezvous.h"
#include "transport/transport.h"

namespace sluice::sharp {

class CouncilSeat final : private transport::ConnectionHandler {
 public:
  using Said = std::variant<Trouble, Standing, Ready, Pause, Prepare, Resume, Fatal, Departure>;

  CouncilSeat(uint16_t rank, KeptConnection kept)
      : rank_(rank), connection_(std::move(kept.connection)), early_(std::move(kept.early)) {}

  uint16_t rank() const { return rank_; }
  // There is somebody to talk to.
  bool open() const { return connection_ != nullptr; }
  int event_fd() const { return connection_->event_fd(); }
  bool prepare_wait() { return connection_->prepare_wait(); }
  std::string peer() const { return connection_->peer(); }

  template <typename T>
  void say(const T& message) {
    if (!open()) return;
    // A broken connection says so when it is listened to next.
    static_cast<void>(connection_->send_message(encode(message), {}));
    static_cast<void>(connection_->flush());
  }
  // What has been said since, in order. Then an error if the peer is gone without a Departure: the
  // seat is not open() any more.
  Status listen(std::deque<Said>* said);
  void close() { connection_.reset(); }

 private:
  Status on_message(std::span<const std::byte> message) override;
  Status on_announcement(std::span<const transport::RemoteWindow> windows,
                         std::span<const std::byte> note) override;
  Status on_arrival(transport::WindowId window, uint64_t offset, uint64_t size,
                    std::span<const std::byte> record) override;
  Status on_written(uint64_t) override { return {}; }
  template <typename T>
  Status note(const Envelope& envelope);

  const uint16_t rank_;
  std::unique_ptr<transport::Connection> connection_;
  std::vector<Message> early_;
  std::deque<Said>* said_ = nullptr;  // while listening
  bool departed_ = false;
};

}  // namespace sluice::sharp
