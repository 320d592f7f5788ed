// SPDX-License-Identifier: Apache-2.0
// Another rank as rank 0 sees it: what it has said so far.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "sharp/client/coordinator.h"

namespace sluice::sharp {

class Coordinator::Peer final : public transport::ConnectionHandler {
 public:
  explicit Peer(std::unique_ptr<transport::Connection> connection)
      : connection_(std::move(connection)) {}

  // Reads what has come; an error is kept.
  void drive() {
    if (!trouble.empty() || farewell) return;
    if (const Status status = connection_->progress(*this); !status) {
      trouble = status.error().message;
    }
  }

  template <typename T>
  void send(const T& value) {
    // A broken connection says so when it is driven next.
    static_cast<void>(connection_->send_message(encode(value), {}));
    static_cast<void>(connection_->flush());
  }

  KeptConnection take() { return {std::move(connection_), std::move(early_)}; }

  const std::string& address() const { return connection_->peer(); }
  std::string name() const {
    if (!hello) return address();
    return format_text("rank %u (%s)", unsigned{hello->rank}, hello->host.c_str());
  }

  std::optional<Hello> hello;
  std::optional<Vote> vote;
  bool greeted = false;   // the hello has been looked at
  bool told = false;      // the decision
  bool farewell = false;  // the decision has arrived
  std::string trouble;    // lost, or broke the protocol

 private:
  Status on_message(std::span<const std::byte> message) override {
    if (farewell) {
      // The rank has its client by now, and may have something to say to rank 0's.
      early_.emplace_back(message.begin(), message.end());
      return {};
    }
    auto envelope = open_envelope(message);
    if (!envelope) return fail(std::move(envelope).error());
    if (envelope->type == MessageType::farewell) {
      farewell = true;
      return {};
    }
    if (!hello) {
      auto said = decode<Hello>(*envelope);
      if (!said) return fail(std::move(said).error());
      hello = std::move(*said);
      return {};
    }
    auto cast = decode<Vote>(*envelope);
    if (!cast) return fail(std::move(cast).error());
    vote = std::move(*cast);
    return {};
  }
  Status on_announcement(std::span<const transport::RemoteWindow>,
                         std::span<const std::byte>) override {
    return fail(ErrorKind::remote, "a window was announced at the rendezvous");
  }
  Status on_arrival(transport::WindowId, uint64_t, uint64_t, std::span<const std::byte>) override {
    return fail(ErrorKind::remote, "data was written at the rendezvous");
  }
  Status on_written(uint64_t) override { return {}; }

  std::unique_ptr<transport::Connection> connection_;
  std::vector<Message> early_;
};

}  // namespace sluice::sharp
