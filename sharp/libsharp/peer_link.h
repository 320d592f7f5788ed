// SPDX-License-Identifier: Apache-2.0
// The connection to another rank during out-of-band collectives: what it has said so far.
//
// Only whole messages are kept, in bounded memory; the first thing that goes wrong is `trouble`.
// Thread rule: one thread at a time.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sharp/libsharp/messages.h"
#include "sharp/wire/rendezvous.h"
#include "transport/transport.h"

namespace sluice::sharp::libsharp {

class PeerLink final : private transport::ConnectionHandler {
 public:
  // `name`: for texts, until the peer has said hello.
  PeerLink(std::unique_ptr<transport::Connection> connection, std::string name)
      : connection_(std::move(connection)), name_(std::move(name)) {}

  // Reads what has come and pushes what waits.
  void drive();

  // A broken connection shows when it is driven next.
  template <typename T>
  void send(const T& message) {
    static_cast<void>(connection_->send_message(encode(message), {}));
    static_cast<void>(connection_->flush());
  }
  void send_data(uint32_t number, std::span<const std::byte> data);

  // All that the peer sends in collective `number` has come.
  bool has_data(uint32_t number) const;
  std::vector<std::byte> take_data(uint32_t number);

  // "rank 3 (gpu07, pid 4711)"
  std::string name() const;

  std::optional<OutOfBandHello> hello;
  std::deque<Vote> votes;
  std::deque<Decision> decisions;
  bool farewell = false;
  std::string trouble;    // ends the connection
  std::string complaint;  // of a peer that speaks another protocol, but understands a Decision

 private:
  struct Incoming {
    std::vector<std::byte> data;
    size_t arrived = 0;
    bool complete() const { return arrived == data.size(); }
  };

  Status on_message(std::span<const std::byte> message) override;
  Status on_announcement(std::span<const transport::RemoteWindow> windows,
                         std::span<const std::byte> note) override;
  Status on_arrival(transport::WindowId window, uint64_t offset, uint64_t size,
                    std::span<const std::byte> record) override;
  Status on_written(uint64_t token) override;
  Status on_piece(std::span<const std::byte> body);

  std::unique_ptr<transport::Connection> connection_;
  const std::string name_;
  std::map<uint32_t, Incoming> incoming_;  // by collective
  size_t kept_ = 0;                        // bytes in incoming_
};

}  // namespace sluice::sharp::libsharp
